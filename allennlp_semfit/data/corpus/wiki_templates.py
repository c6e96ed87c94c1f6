"""
The few templates of a Wikipedia that stand for words inside a sentence.
"""

from typing import List

_CONSTANTS = {
    "!": "|",
    "=": "=",
    "'": "'",
    "`": "`",
    "pipe": "|",
    "nbsp": " ",
    "spaces": " ",
    "ndash": "–",
    "mdash": "—",
    "spaced ndash": " – ",
    "spaced mdash": " — ",
    "snd": " – ",
    "spnd": " – ",
    "dot": "·",
    "·": "·",
}
# Name: which of the unnamed arguments is the text.
_TEXT_ARGUMENT = {
    "lang": 1,
    "transl": -1,
    "transliteration": -1,
    "nihongo": 0,
    "nowrap": 0,
    "nobr": 0,
    "small": 0,
    "smaller": 0,
    "big": 0,
    "larger": 0,
    "sc": 0,
    "smallcaps": 0,
    "sub": 0,
    "sup": 0,
    "abbr": 0,
    "val": 0,
    "iast": 0,
    "angbr": 0,
    "angle bracket": 0,
    "keypress": 0,
    "uss": 0,
    "quote": 0,
    "blockquote": 0,
    "cquote": 0,
}
_PREFIXES = {
    "circa": "c. ",
    "c.": "c. ",
    "as of": "as of ",
    "uss": "USS ",
    "p.": "p. ",
    "pp.": "pp. ",
}
_RANGE_WORDS = {"to", "-", "–", "and", "or", "by", "x", "×", "to(-)", "+/-"}


def render_template(content: str) -> str:
    """
    # Parameters

    content : `str`
        What stands between the double braces, with the templates and links in it already resolved.

    # Returns

    `str`
        The words that a reader sees in the sentence, or nothing: most templates are boxes,
        footnotes or notices.
    """
    name, *arguments = content.split("|")
    name = " ".join(name.replace("_", " ").lower().split())
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    unnamed = [a.strip() for a in arguments if "=" not in a]
    named = dict(_split_named(a) for a in arguments if "=" in a)
    unnamed = [named.pop("1"), *unnamed] if "1" in named else unnamed
    if not unnamed:
        return named.get("text", "") if name in _TEXT_ARGUMENT else ""
    if name in ("convert", "cvt"):
        return _measure(unnamed)
    if name in ("chem", "chem2"):
        return "".join(unnamed)
    if name.startswith("lang-"):
        return unnamed[0]
    if name in _TEXT_ARGUMENT:
        index = _TEXT_ARGUMENT[name]
        text = unnamed[index] if index < len(unnamed) else ""
        return _PREFIXES.get(name, "") + text
    if name in _PREFIXES:
        return _PREFIXES[name] + unnamed[0]
    return ""


def _split_named(argument: str) -> List[str]:
    return [part.strip() for part in argument.split("=", 1)]


def _measure(unnamed: List[str]) -> str:
    """`convert|5|to|10|km|mi` is "5 to 10 km"; `convert|6|ft|2|in` is left at "6 ft"."""
    count = 4 if len(unnamed) > 2 and unnamed[1] in _RANGE_WORDS else 2
    return " ".join(unnamed[:count])
