"""
Makes running text of wiki markup, which mwparserfromhell parses.

gensim's `filter_wiki` and mwparserfromhell's own `strip_code` leave headings, bullets, captions,
cells of tables or the names of files in the text, which nobody would want a language model to
learn; hence a walk of our own over the parsed nodes.
"""

import re
from typing import TYPE_CHECKING, Collection, List

# The package is an extra, and `--include-package` imports this module for every command.
if TYPE_CHECKING:
    from mwparserfromhell.nodes import Node, Tag, Template, Wikilink
    from mwparserfromhell.wikicode import Wikicode

# Elements that are no part of a sentence. Others give way to what is in them.
_DROPPED_TAGS = frozenset(
    ["ref", "references", "math", "chem", "ce", "gallery", "timeline", "imagemap", "score"]
    + ["source", "syntaxhighlight", "pre", "table", "hiero", "graph", "mapframe", "maplink"]
    + ["categorytree", "inputbox", "templatedata", "templatestyles", "indicator", "style", "script"]
)
_BREAKING_TAGS = frozenset(
    ["br", "p", "div", "center", "blockquote", "poem", "ul", "ol", "dl", "hr", "li", "dd", "dt"]
)
# Templates that stand for words in a sentence: what they show, or which of their unnamed arguments
# is the text. Most of the others are boxes, footnotes and notices.
_SIGNS = {
    "nbsp": " ",
    "ndash": "–",
    "mdash": "—",
    "snd": " – ",
    "spaced ndash": " – ",
    "spaced mdash": " — ",
}
_TEXT_ARGUMENT = {
    "lang": 2,
    **dict.fromkeys(["nihongo", "nowrap", "nobr", "small", "big", "sc", "smallcaps"], 1),
    **dict.fromkeys(["sub", "sup", "abbr", "val", "iast", "angbr", "quote", "blockquote"], 1),
}
_RANGE_WORDS = frozenset(["to", "-", "–", "and", "or", "by", "x", "×", "+/-"])

# What marks an item of a list from here until the line is finished. No text holds it.
_ITEM = "\x00"
_MAGIC_WORD = re.compile(r"__[A-Z]+__")
# The parser takes only a blank between the name of an element and its attributes.
_SPACE_IN_TAG = re.compile(r"(?<=<)([a-z]+)\s+", re.IGNORECASE)
# Chinese and some other wikis: the same word in each of the language's scripts.
_LANGUAGE_VARIANT = re.compile(r"-\{(?:[^{}:;]*:)?([^{};]*)[^{}]*\}-")
_REMAINS_OF_MARKUP = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+|'''?")
# What the parser could make nothing of. Text that shows such a thing writes it with entities.
_BROKEN_TAG = re.compile(r"</?(?:ref|br|small|div)\b[^<>]*>")
_TABLE_ROW = re.compile(r"\{\||\|\}?|!")
# What a template leaves behind that stood between brackets or marks.
_EMPTY_BRACKETS = re.compile(r"\s*[(（]\s*(?:[,;:،、]\s*)*[)）]")
_NEEDLESS_MARKS = re.compile(
    r"(?<=[(（])\s*(?:[,;:]\s*)+|\s*(?:[,;:]\s*)+(?=[)）])|(?:\s*[,;])+(?=\s*[,;.](?:\s|$))"
)
_SENTENCE_END = re.compile(r"[.!?…。！？।॥։؟۔።။][\"'”’»)\]」』]*$")
_LETTER = re.compile(r"[^\W\d_]")
_FILE_NAME = re.compile(
    r"[^:\n]+:[^\n]*\.(?:jpe?g|png|svg|gif|tiff?|og[gav]|web[mp]|pdf|djvu|mp[34]|wav|flac|mid|xcf)$",
    re.IGNORECASE,
)
_OTHER_WIKI = re.compile(r"(?:[a-z]{2,3}|simple)(?:-[a-z-]+)?$")
_INVISIBLE = {
    ord(c): None for c in "\xad\u200b\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e"
}


def strip_markup(markup: str, hidden_namespaces: Collection[str]) -> List[str]:
    """
    # Parameters

    markup : `str`
        An article as its authors wrote it.
    hidden_namespaces : `Collection[str]`
        Prefixes, in lower case, of links that vanish with what they hold: pictures, categories.

    # Returns

    `List[str]`
        The paragraphs of running text. Templates (but for a few that stand for words in a
        sentence), tables, footnotes, formulas, pictures with their captions and headings are left
        out, and so are items of lists that do not end as a sentence does.
    """
    import mwparserfromhell

    markup = _MAGIC_WORD.sub("", markup.replace(_ITEM, ""))
    markup = _LANGUAGE_VARIANT.sub(r"\1", _SPACE_IN_TAG.sub(r"\1 ", markup))
    text = _render(mwparserfromhell.parse(markup), frozenset(hidden_namespaces))
    paragraphs = map(_clean_line, text.split("\n"))
    return [paragraph for paragraph in paragraphs if _LETTER.search(paragraph)]


def _render(code: "Wikicode", hidden: Collection[str]) -> str:
    return "".join(_render_node(node, hidden) for node in code.nodes)


def _render_node(node: "Node", hidden: Collection[str]) -> str:
    from mwparserfromhell import nodes

    if isinstance(node, nodes.Text):
        return _BROKEN_TAG.sub("", node.value)
    if isinstance(node, nodes.Wikilink):
        return _render_link(node, hidden)
    if isinstance(node, nodes.Tag):
        return _render_tag(node, hidden)
    if isinstance(node, nodes.HTMLEntity):
        return node.normalize()
    if isinstance(node, nodes.ExternalLink):
        # One without a title shows as a number, or as its address.
        return _render(node.title, hidden) if node.title else ""
    if isinstance(node, nodes.Template):
        return _render_template(node, hidden)
    # Headings and comments, and the arguments that only a template has.
    return ""


def _render_tag(tag: "Tag", hidden: Collection[str]) -> str:
    name = str(tag.tag).strip().lower()
    if name == "table":
        # With a heading in it, it was never closed, and the article went on behind it.
        headings = tag.contents.filter_headings(recursive=False)
        if headings:
            behind = tag.contents.nodes[tag.contents.index(headings[0]) :]
            return "".join(_render_node(node, hidden) for node in behind)
    if name in _DROPPED_TAGS:
        return ""
    if tag.wiki_markup in ("*", "#", ";"):
        return _ITEM
    content = "" if tag.self_closing else _render(tag.contents, hidden)
    return f"\n{content}\n" if name in _BREAKING_TAGS and tag.wiki_markup != ":" else content


def _render_link(link: "Wikilink", hidden: Collection[str]) -> str:
    target = str(link.title).strip()
    prefix, colon, _ = target.partition(":")
    prefix = prefix.strip().replace("_", " ").lower()
    is_other_wiki = link.text is None and _OTHER_WIKI.match(prefix)
    if colon and prefix and (prefix in hidden or _FILE_NAME.match(target) or is_other_wiki):
        return ""
    return _render(link.text, hidden) if link.text else target.lstrip(":")


def _render_template(template: "Template", hidden: Collection[str]) -> str:
    name = " ".join(str(template.name).replace("_", " ").lower().split())
    arguments = [
        " ".join(_render(parameter.value, hidden).split())
        for parameter in template.params
        if not parameter.showkey or str(parameter.name).strip() in ("1", "text")
    ]
    if name in ("convert", "cvt"):
        # {{convert|5|to|10|km|mi}} reads "5 to 10 km".
        return " ".join(arguments[: 4 if arguments[1:2] and arguments[1] in _RANGE_WORDS else 2])
    if name == "as of":
        return " ".join(["as of", *arguments[:1]])
    number = 1 if name.startswith("lang-") else _TEXT_ARGUMENT.get(name, 0)
    return arguments[number - 1] if 0 < number <= len(arguments) else _SIGNS.get(name, "")


def _clean_line(line: str) -> str:
    line = line.strip()
    if _TABLE_ROW.match(line):
        # Of a table that nobody closed.
        return ""
    is_item = line.startswith(_ITEM)
    line = _REMAINS_OF_MARKUP.sub("", line.replace(_ITEM, "")).translate(_INVISIBLE)
    line = _NEEDLESS_MARKS.sub("", _EMPTY_BRACKETS.sub("", line))
    line = " ".join(line.split())
    # Its subject was a template.
    if line[:1] in tuple(",;:.)]"):
        return ""
    # An item of a list may be a sentence, the name of another article, or a row of a bibliography.
    return "" if is_item and not _SENTENCE_END.search(line) else line
