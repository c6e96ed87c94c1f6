"""
Extracts running text from wiki markup, with the parser mwparserfromhell.

gensim's `filter_wiki` and mwparserfromhell's `strip_code` are not used because they leave headings,
bullets, captions, table cells or file names in the text.
"""

import re
from typing import TYPE_CHECKING, Collection, List

from allennlp_semfit.corpus.sentences import remove_invisible

# The package is an extra, and `--include-package` imports this module for every command.
if TYPE_CHECKING:
    from mwparserfromhell.nodes import Node, Tag, Template, Wikilink
    from mwparserfromhell.wikicode import Wikicode

# Elements that are removed. Other tags are replaced by their content.
_DROPPED_TAGS = frozenset(
    ["ref", "references", "math", "chem", "ce", "gallery", "timeline", "imagemap", "score"]
    + ["source", "syntaxhighlight", "pre", "table", "hiero", "graph", "mapframe", "maplink"]
    + ["categorytree", "inputbox", "templatedata", "templatestyles", "indicator", "style", "script"]
)
_BREAKING_TAGS = frozenset(
    ["br", "p", "div", "center", "blockquote", "poem", "ul", "ol", "dl", "hr", "li", "dd", "dt"]
)
# Templates that are part of a sentence: the text they display, or the number of the unnamed
# argument that is the text. Most other templates are boxes, footnotes and notices.
_TEMPLATE_TEXT = {
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

# From each opening bracket or tag that is not closed, the parser reads to the end of the article,
# and again from the next one. This number of characters takes it up to 2 seconds.
_MAX_CHARACTERS_READ = 10_000_000
_CLOSING = {"{{": "}}", "[[": "]]", "{|": "|}", "[": "]", "<!--": "-->", "<": "</"}
_BRACKETS_AND_TAGS = re.compile(
    r"\{\{|\}\}|^\{\||^\|\}(?!\})|\[\[|\]\]|\[(?=[a-z]+:|//)|\]|<!--|-->|</(?=[a-z])|/(?=>)"
    r"|<(?=[a-z])(?!(?:[bh]r|wbr|meta|link|img|li|d[td]|t[hdr])\b[^<>]*>)",
    re.IGNORECASE | re.MULTILINE,
)

# Marks list items until `_clean_line`. It does not occur in text.
_ITEM_MARK = "\x00"
_MAGIC_WORD = re.compile(r"__[A-Z]+__")
# The parser accepts only a space between the name of an element and its attributes.
_SPACE_IN_TAG = re.compile(r"(?<=<)([a-z]+)\s+", re.IGNORECASE)
# In Chinese and some other wikis: variants of a word in the language's scripts.
_LANGUAGE_VARIANT = re.compile(r"-\{(?:[^{}:;]*:)?([^{};]*)(?:;[^{}]*)?\}-")
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
_SENTENCE_END = re.compile(r"[.!?…。！？।॥։؟۔።။][\"'”’»)\]」』]*$")
_LETTER = re.compile(r"[^\W\d_]")
_FILE_NAME = re.compile(
    r"[^:\n]+:[^\n]*\.(?:jpe?g|png|svg|gif|tiff?|og[gav]|web[mp]|pdf|djvu|mp[34]|wav|flac|mid|xcf)$",
    re.IGNORECASE,
)
_OTHER_WIKI = re.compile(r"(?:[a-z]{2,3}|simple)(?:-[a-z-]+)?$")


class MarkupError(ValueError):
    """The markup is broken or nested so that the parser would take too long or fail."""


def strip_markup(markup: str, hidden_namespaces: Collection[str]) -> List[str]:
    """
    Returns an article's paragraphs of running text, without tables, footnotes, formulas, pictures,
    captions, headings, most templates, and list items that do not end like a sentence.
    `hidden_namespaces` are the prefixes, in lower case, of links that are removed with their text.

    # Raises

    `MarkupError`
        If too many brackets or tags are not closed, or they are nested too deeply.
    """
    import mwparserfromhell

    markup = _MAGIC_WORD.sub("", markup.replace(_ITEM_MARK, ""))
    markup = _LANGUAGE_VARIANT.sub(r"\1", _SPACE_IN_TAG.sub(r"\1 ", markup))
    num_unclosed = _count_unclosed(markup)
    if num_unclosed * len(markup) > _MAX_CHARACTERS_READ:
        raise MarkupError(f"{num_unclosed:,} brackets or tags are not closed")
    try:
        text = _render(mwparserfromhell.parse(markup), frozenset(hidden_namespaces))
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
        # Without a title, it is displayed as a number or URL.
        return _render(node.title, hidden) if node.title else ""
    if isinstance(node, nodes.Template):
        return _render_template(node, hidden)
    # Headings, comments and template parameters.
    return ""


def _render_tag(tag: "Tag", hidden: Collection[str]) -> str:
    name = str(tag.tag).strip().lower()
    if name == "table":
        # A table that contains a heading was not closed. The article continues at the heading.
        headings = tag.contents.filter_headings(recursive=False)
        if headings:
            behind = tag.contents.nodes[tag.contents.index(headings[0]) :]
            return "".join(_render_node(node, hidden) for node in behind)
    if name in _DROPPED_TAGS:
        return ""
    if tag.wiki_markup in ("*", "#", ";"):
        return _ITEM_MARK
    content = "" if tag.self_closing else _render(tag.contents, hidden)
    return f"\n{content}\n" if name in _BREAKING_TAGS and tag.wiki_markup != ":" else content


def _render_link(link: "Wikilink", hidden: Collection[str]) -> str:
    target = str(link.title).strip()
    prefix, colon, name = target.partition(":")
    # A title such as "CSI: Miami" does not name another wiki.
    is_other_wiki = link.text is None and name[:1] != " " and _OTHER_WIKI.match(prefix)
    prefix = prefix.strip().replace("_", " ").lower()
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
    return arguments[number - 1] if 0 < number <= len(arguments) else _TEMPLATE_TEXT.get(name, "")


def _clean_line(line: str) -> str:
    line = line.strip()
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
    return "" if is_item and not _SENTENCE_END.search(line) else line
