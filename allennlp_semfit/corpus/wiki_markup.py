"""
Extracts running text from wiki markup, with the parser mwparserfromhell.

gensim's `filter_wiki` and mwparserfromhell's `strip_code` are not used because they leave headings,
bullets, captions, table cells or file names in the text.
"""

import re
from collections import Counter
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Dict,
    List,
    NamedTuple,
    Optional,
    Sequence,
)
from typing import Counter as CounterType

import regex

from allennlp_semfit.corpus.sentences import SENTENCE_END, remove_invisible

# The package is an extra, and `--include-package` imports this module for every command.
if TYPE_CHECKING:
    from mwparserfromhell.nodes import Node, Tag, Template, Wikilink
    from mwparserfromhell.wikicode import Wikicode

# Elements that are removed, besides those whose content is not wiki markup, such as formulas. Other
# tags are replaced by their content.
_DROPPED_TAGS = frozenset(["ref", "references", "table", "mapframe", "maplink", "indicator"])
_BREAKING_TAGS = frozenset(
    ["br", "p", "div", "center", "blockquote", "poem", "ul", "ol", "dl", "hr", "li", "dd", "dt"]
)
# Templates that are part of a sentence: the text they display, or those that display their first
# argument or have another rule. The text of others is guessed, except those that are not text. Most
# are boxes, footnotes and notices.
_TEMPLATE_TEXT = {
    "=": "=",
    "nbsp": " ",
    "ndash": "–",
    "mdash": "—",
    "snd": " – ",
    "spaced ndash": " – ",
    "spaced mdash": " — ",
}
_TEXT_IS_FIRST_ARGUMENT = frozenset(
    ["nihongo", "nowrap", "nobr", "small", "big", "sc", "smallcaps", "sub", "sup", "abbr", "iast"]
    + ["angbr", "quote", "blockquote", "vanchor"]
)
_PART_OF_SENTENCE = _TEXT_IS_FIRST_ARGUMENT | {"lang", "convert", "cvt"}
_NOT_TEXT = frozenset(["rp", "frac", "sfrac", "coord", "respell"])
_CHANGE_OF_CASE: Dict[str, Callable[[str], str]] = {
    "lc": str.lower,
    "uc": str.upper,
    "lcfirst": lambda text: text[:1].lower() + text[1:],
    "ucfirst": lambda text: text[:1].upper() + text[1:],
}
_NUMBER = re.compile(r"[+−-]?\d[\d.,\u00a0 /]*(?:e[+-]?\d+)?$")
# Longer numbers are those of patents, books and so on.
_NUMBER_AND_UNIT = re.compile(r"\d{1,6}(?:[.,]\d+)* ?[^\W\d_]{0,3}$")
_DATE = re.compile(r"\d{1,2} [^\W\d_]+ \d{3,4}$")
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-\w{2,8})*$")

# From each opening bracket or tag that is not closed, the parser reads to the end of the article,
# and again from the next one. This number of characters takes it up to 2 seconds.
_MAX_CHARACTERS_READ = 10_000_000
_CLOSING = {"{{": "}}", "[[": "]]", "{|": "|}", "[": "]", "<!--": "-->", "<": "</"}
_BRACKETS_AND_TAGS = re.compile(
    r"\{\{|\}\}|^\{\||^\|\}(?!\})|\[\[|\]\]|\[(?=[a-z]+:|//)|\]|<!--|-->|</(?=[a-z])|/(?=>)"
    r"|<(?=[a-z])(?!(?:[bh]r|wbr|meta|link|img|li|d[td]|t[hdr])\b[^<>]*>)",
    re.IGNORECASE | re.MULTILINE,
)

# Marks until `_clean_line`, which do not occur in text: of list items, and around the text of
# templates that need not be part of a sentence.
_ITEM_MARK = "\x00"
_GUESS = "\x01{}\x02"
_GUESSES = re.compile("\x01[^\x01\x02]*\x02")
# A template with nothing but a number is that of a page, directly after a mark, or an exponent.
_LONE_NUMBER = "\x03"
_GUESS_MARKS = re.compile(r"(?<=[\d.,;!?)\]\"”’'。，])\x01\x03[^\x02]*\x02|[\x01-\x03]")
# In any language, such as __БЕЗ_ОГЛАВЛЕНИЯ__.
_MAGIC_WORD = regex.compile(r"__[\p{Lu}\p{Lo}_]+?__")
# The parser accepts only a space between the name of an element and its attributes.
_SPACE_IN_TAG = re.compile(r"(?<=<)([a-z]+)\s+", re.IGNORECASE)
# In Chinese and some other wikis: variants of a word in the language's scripts.
_LANGUAGE_VARIANT = re.compile(r"-\{(?:([A-Za-z;\s-]*)\|)?([^{}]*)\}-")
_VARIANT = re.compile(r"\s*[a-z-]+\s*:\s*([^;]*)")
_LEFTOVER_MARKUP = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+|'''?")
# Tags that the parser could not parse. Text that displays a tag uses entities.
_BROKEN_TAG = re.compile(r"</?(?:ref|br|small|div)\b[^<>]*>")
# But not a sentence that begins with "!Kung".
_TABLE_ROW = re.compile(r"\{\||\|\}?|!(?![^\W\d_].*[.!?]$)")
# Brackets and punctuation left by removed templates. A match begins at the start of a run of spaces
# or punctuation; otherwise long runs would take quadratic time.
_EMPTY_BRACKETS = re.compile(r"(?<!\s)\s*[(（]\s*(?:[,;:،、]\s*)*[)）]")
_LEFTOVER_PUNCTUATION = re.compile(
    r"(?<=[(（])\s*(?:[,;:]\s*)+|(?<![\s,;:])\s*(?:[,;:]\s*)+(?=[)）])"
    r"|(?<![\s,;])(?:\s*[,;])+(?=\s*[,;.](?:\s|$))"
)
_LINE_END = regex.compile(f"{SENTENCE_END}$")
_LETTER = re.compile(r"[^\W\d_]")
_FILE_NAME = re.compile(
    r"[^:\n]+:[^\n]*\.(?:jpe?g|png|svg|gif|tiff?|og[gav]|web[mp]|pdf|djvu|mp[34]|wav|flac|mid|xcf)$",
    re.IGNORECASE,
)
_OTHER_WIKI = re.compile(r"(?:[a-z]{2,3}|simple)(?:-[a-z-]+)?$")


class MarkupError(ValueError):
    """The markup is broken or nested so that the parser would take too long or fail."""


class _Page(NamedTuple):
    hidden: Collection[str]
    dropped: CounterType[str]


def strip_markup(
    markup: str, hidden_namespaces: Collection[str], dropped: Optional[CounterType[str]] = None
) -> List[str]:
    """
    Returns an article's paragraphs of running text, without tables, footnotes, formulas, pictures,
    captions, headings, most templates, and list items that do not end like a sentence.
    `hidden_namespaces` are the prefixes, in lower case, of links that are removed with their text.
    The names of templates that are left out are counted in `dropped`.

    # Raises

    `MarkupError`
        If too many brackets or tags are not closed, or they are nested too deeply.
    """
    import mwparserfromhell

    markup = _MAGIC_WORD.sub("", markup.replace(_ITEM_MARK, ""))
    markup = _LANGUAGE_VARIANT.sub(_choose_variant, _SPACE_IN_TAG.sub(r"\1 ", markup))
    num_unclosed = _count_unclosed(markup)
    if num_unclosed * len(markup) > _MAX_CHARACTERS_READ:
        raise MarkupError(f"{num_unclosed:,} brackets or tags are not closed")
    page = _Page(frozenset(hidden_namespaces), Counter() if dropped is None else dropped)
    try:
        text = _render(mwparserfromhell.parse(markup), page)
    except RecursionError:
        raise MarkupError("brackets or tags are nested too deeply") from None
    paragraphs = map(_clean_line, text.split("\n"))
    return [paragraph for paragraph in paragraphs if _LETTER.search(paragraph)]


def _count_unclosed(markup: str) -> int:
    expected: List[str] = []
    for match in _BRACKETS_AND_TAGS.finditer(markup):
        token = "</" if match[0] == "/" else match[0]
        if token in _CLOSING:
            expected.append(_CLOSING[token])
        elif expected and token == expected[-1]:
            expected.pop()
    return len(expected)


def _render(code: "Wikicode", page: _Page) -> str:
    return "".join(_render_node(node, page) for node in code.nodes)


def _render_node(node: "Node", page: _Page) -> str:
    from mwparserfromhell import nodes

    if isinstance(node, nodes.Text):
        return _BROKEN_TAG.sub("", node.value)
    if isinstance(node, nodes.Wikilink):
        return _render_link(node, page)
    if isinstance(node, nodes.Tag):
        return _render_tag(node, page)
    if isinstance(node, nodes.HTMLEntity):
        return node.normalize()
    if isinstance(node, nodes.ExternalLink):
        # Without a title, it is displayed as a number or URL.
        return _render(node.title, page) if node.title else ""
    if isinstance(node, nodes.Template):
        return _render_template(node, page)
    # Headings, comments and template parameters.
    return ""


def _render_tag(tag: "Tag", page: _Page) -> str:
    from mwparserfromhell.definitions import is_parsable

    name = str(tag.tag).strip().lower()
    if name == "table":
        # A table that contains a heading was not closed. The article continues at the heading.
        headings = tag.contents.filter_headings(recursive=False)
        if headings:
            behind = tag.contents.nodes[tag.contents.index(headings[0]) :]
            return "".join(_render_node(node, page) for node in behind)
    if name in _DROPPED_TAGS or (name != "nowiki" and not is_parsable(name)):
        return ""
    if tag.wiki_markup in ("*", "#", ";"):
        return _ITEM_MARK
    content = "" if tag.self_closing else _render(tag.contents, page)
    return f"\n{content}\n" if name in _BREAKING_TAGS and tag.wiki_markup != ":" else content


def _render_link(link: "Wikilink", page: _Page) -> str:
    target = str(link.title).strip()
    prefix, colon, name = target.partition(":")
    # A title such as "CSI: Miami" does not name another wiki.
    is_other_wiki = link.text is None and name[:1] != " " and _OTHER_WIKI.match(prefix)
    prefix = prefix.strip().replace("_", " ").lower()
    if colon and prefix and (prefix in page.hidden or _FILE_NAME.match(target) or is_other_wiki):
        return ""
    return _render(link.text, page) if link.text else target.lstrip(":")


def _render_template(template: "Template", page: _Page) -> str:
    name = " ".join(str(template.name).replace("_", " ").lower().split()).removeprefix("template:")
    if name in _TEMPLATE_TEXT or name.startswith("'"):
        return _TEMPLATE_TEXT.get(name, name.replace(" ", ""))
    arguments = [
        _argument(parameter, page)
        for parameter in template.params
        if not parameter.showkey or str(parameter.name).strip() in ("1", "text", "u")
    ]
    first = "".join(arguments[:1])
    function, is_function, _ = name.partition(":")
    text = ""
    if name == "as of":
        return f"{'as' if template.has('lc') else 'As'} of {first}"
    if name in _TEXT_IS_FIRST_ARGUMENT or name.startswith("lang-"):
        text = first
    elif is_function:
        text = _render_function(function, template, page)
    elif name not in _NOT_TEXT and not name.startswith("ipa"):
        text = _guess_text(arguments)
    if not text:
        page.dropped[function] += 1
        return ""
    return text if name in _PART_OF_SENTENCE or name.startswith("lang-") else _GUESS.format(text)


def _argument(parameter: Any, page: _Page) -> str:
    return " ".join(_GUESS_MARKS.sub("", _render(parameter.value, page)).split())


def _guess_text(arguments: Sequence[str]) -> str:
    """
    The text of a template by the shape of its unnamed arguments, in a wiki of any language: a
    number, numbers with units or words between, as in "5|to|10|km|mi" or "5|ft|11|in|m", a date,
    the code of a language and text, or a title and the code of a wiki that has an article on it.
    """
    if _DATE.match(" ".join(arguments)):
        return " ".join(arguments)
    measures: List[str] = []
    for number, unit in zip(arguments[::2], arguments[1::2]):
        if not _NUMBER.match(number) or not unit or _NUMBER.match(unit):
            break
        measures += [number, unit]
    if measures:
        return " ".join(measures)
    if len(arguments) == 1 and _NUMBER_AND_UNIT.match(arguments[0]):
        return _LONE_NUMBER + arguments[0]
    first, second, third = [*arguments, "", "", ""][:3]
    text = ""
    if second and _LANGUAGE_CODE.match(first):
        # {{transl|ar|ALA|Allāh}} has the name of a transliteration before the text.
        text = third if third and re.match("[A-Z]+$", second) else second
    elif _LANGUAGE_CODE.match(second):
        text = first
    return text if _LETTER.search(text) else ""


def _render_function(name: str, template: "Template", page: _Page) -> str:
    """A parser function, such as {{formatnum:2111}} or {{#if:a|b|c}}."""
    rendered = _GUESS_MARKS.sub("", _render(template.name, page))
    subject = " ".join(rendered.partition(":")[2].split())
    arguments = [_argument(parameter, page) for parameter in template.params]
    first, second, third = [*arguments, "", "", ""][:3]
    if name == "#if":
        return first if subject else second
    if name == "#ifeq":
        return second if subject == first else third
    if name == "#switch":
        return _switch(subject, template, page)
    if name in _CHANGE_OF_CASE:
        return _CHANGE_OF_CASE[name](subject)
    if name == "grammar":
        return first
    if name == "plural" and arguments:
        return arguments[0 if subject == "1" else -1]
    # "formatnum" has other names in other languages. Most functions set the title or a sort key.
    return _LONE_NUMBER + subject if _NUMBER.match(subject) else ""


def _switch(subject: str, template: "Template", page: _Page) -> str:
    cases: Dict[str, str] = {}
    value = ""
    for parameter in reversed(template.params):
        argument = _argument(parameter, page)
        # A case without a value has that of the next one. The last one is the default.
        if parameter.showkey or not cases:
            value = argument
        key = "#default" if not cases else argument
        cases[str(parameter.name).strip() if parameter.showkey else key] = value
    return cases.get(subject, cases.get("#default", ""))


def _choose_variant(match: "re.Match[str]") -> str:
    flags = {flag.strip() for flag in (match[1] or "").split(";")}
    if flags & {"H", "T", "-"}:
        # A rule for the rest of the page, or its title
        return ""
    variant = _VARIANT.match(match[2])
    return variant[1] if variant else match[2]


def _clean_line(line: str) -> str:
    line = line.strip()
    if "\x01" in line:
        if not _LETTER.search(_GUESSES.sub("", line)):
            return ""
        line = _GUESS_MARKS.sub("", line)
    if _TABLE_ROW.match(line):
        # A row of a table that was not closed.
        return ""
    is_item = line.startswith(_ITEM_MARK)
    line = remove_invisible(_LEFTOVER_MARKUP.sub("", line.replace(_ITEM_MARK, "")))
    line = _LEFTOVER_PUNCTUATION.sub("", _EMPTY_BRACKETS.sub("", line))
    line = " ".join(line.split())
    # The start of the sentence was a template, unless it is a name such as ".NET".
    if re.match(r"[,;:)\]]|\.(?![\w.])", line):
        return ""
    # Other list items are links or bibliography entries.
    return "" if is_item and not _LINE_END.search(line) else line
