"""
Streams the articles of a MediaWiki dump, and extracts running text from wiki markup, with the
parser mwparserfromhell. Its `strip_code` is not used: it keeps headings, captions, footnotes, table
cells and lists, and removes the words of {{lang}} and other templates.
"""

import re
from contextlib import suppress
from itertools import chain, takewhile
from typing import IO, Any, Callable, Collection, Dict, Iterator, List, NamedTuple, Optional, Tuple
from xml.etree.ElementTree import Element, iterparse

import regex

from allennlp_semfit.corpus.lines import SENTENCE_END
from allennlp_semfit.corpus.sentences import remove_invisible

# The keys of the namespaces whose links are not text: Media, File, Category.
_HIDDEN_KEYS = {"-2", "6", "14"}
# The English names work in a wiki of any language.
_HIDDEN_NAMES = frozenset(["media", "file", "image", "category"])
_ARTICLE_KEY = "0"


class Document(NamedTuple):
    """
    The wiki markup of an article, the text of a row of a dataset, or a block of lines of a text
    file. It is used for either training or validation as a whole.

    `hidden_namespaces` is `None` for text. For an article, it contains the prefixes of links that
    are not displayed as text, such as `file` and `category`, in lower case and the dump's language.
    """

    text: str
    hidden_namespaces: Optional[Collection[str]] = None


def read_articles(stream: IO[bytes]) -> Iterator[Document]:
    """
    Yields each article in the XML of a dump. Redirects, talk pages and templates are skipped. The
    last revision of a page is used.

    gensim's `extract_pages` is not used because it keeps an empty element for each page (84 MB for
    a million pages), and returns neither which pages are redirects nor the names of the namespaces.

    Raises a `ParseError` of `xml.etree.ElementTree` if the XML is damaged or truncated.
    """
    events = iterparse(stream, events=("start", "end"))
    _, root = next(events)
    prefix = root.tag[: root.tag.find("}") + 1]
    page_tag, siteinfo_tag = prefix + "page", prefix + "siteinfo"
    hidden = _HIDDEN_NAMES
    for event, element in events:
        if event == "start":
            continue
        if element.tag == siteinfo_tag:
            hidden |= {
                namespace.text.lower()
                for namespace in element.iter(prefix + "namespace")
                if namespace.get("key") in _HIDDEN_KEYS and namespace.text
            }
        elif element.tag == page_tag:
            text = _article_text(element, prefix)
            # With `element.clear()`, the root would keep an empty element for each page.
            root.clear()
            if text:
                yield Document(text, hidden)


def _article_text(page: Element, prefix: str) -> str:
    # In a dump with history, a page has several revisions.
    revision = page.find(prefix + "revision[last()]")
    if (
        revision is None
        or page.findtext(prefix + "ns", _ARTICLE_KEY) != _ARTICLE_KEY
        or page.find(prefix + "redirect") is not None
        or revision.findtext(prefix + "model", "wikitext") != "wikitext"
    ):
        return ""
    text = revision.findtext(prefix + "text") or ""
    # Old dumps do not have a redirect element.
    return "" if text[:9].lower() == "#redirect" else text


def _convert(values: List[str]) -> str:
    """The numbers and units of {{convert|5|ft|11|in|m}} or {{convert|5|to|10|km|mi}}."""
    pairs = zip(values[::2], values[1::2])
    return " ".join(chain(*takewhile(lambda pair: pair[0].lstrip("+-−")[:1].isdigit(), pairs)))


# The most frequent templates that are part of a sentence, and functions from their values to text.
# "lang-" stands for {{lang-el}} and so on.
_TEMPLATES: Dict[str, Callable[[List[str]], str]] = {
    **dict.fromkeys(["lang", "rtl-lang", "transl", "transliteration"], lambda values: values[-1]),
    **dict.fromkeys(["nowrap", "nobr", "small", "big", "sc", "angbr"], lambda values: values[0]),
    **dict.fromkeys(["lang-", "nihongo", "formatnum"], lambda values: values[0]),
    **dict.fromkeys(["quote", "blockquote", "cquote", "quotation"], lambda values: values[0]),
    # {{langx|el|λόγος|logos}}
    "langx": lambda values: "".join(values[1:2]),
    **dict.fromkeys(["convert", "cvt"], _convert),
    "as of": lambda values: f"As of {values[0]}",
    "chem": "".join,
    "val": " ".join,
}
_CHARACTERS = {"'": "'", "'s": "'s", "nbsp": " ", "ndash": "–", "mdash": "—", "snd": " – "}
_CHARACTERS |= {"spaced ndash": " – ", "' \"": "'\""}

# Elements that are removed, besides those whose content is not wiki markup, such as formulas.
_DROPPED_TAGS = frozenset(["ref", "references", "table", "mapframe", "maplink", "indicator"])
_BREAKING_TAGS = frozenset(
    ["br", "p", "div", "center", "blockquote", "poem", "li", "dd", "dt", "tr", "td", "th"]
    + [f"h{level}" for level in range(1, 7)]
)
# Comments, and magic words such as __NOTOC__ in any language.
_INVISIBLE = regex.compile(r"<!--(?:(?!<!--).)*?-->|__[\p{Lu}\p{Lo}_]+?__", regex.DOTALL)
# In Chinese and some other wikis: a rule for the page, or a word in several language variants.
_LANGUAGE_VARIANTS = re.compile(
    r"-\{[HT-]\|[^{}]*\}-|-\{(?:[^{}|]*\|)?(?:\s*[a-z-]+:)?([^{};]*)(?:;[^{}]*)?\}-"
)
_HEADING = re.compile(r"^=[^\n]*=[ \t]*$", re.MULTILINE)
# Unbalanced markup, which the parser returns as text.
_LEFTOVER_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|\{\{+|\}\}+|\[\[+|\]\]+|'''?")
# Punctuation around removed templates: "( , )", "(; text)", "(text, )", "one, , two".
_LEFTOVER_PUNCTUATION = re.compile(
    r"(?<!\s)\s*[(（][\s,;:،、]*[)）]|(?<=[(（])[\s,;:،、]+|(?<![\s,;:])[\s,;:]+(?=[)）])"
    r"|(?<![\s,;])(?:\s*[,;])+(?=\s*[,;.](?:\s|$))"
)
# A row of a table that is not closed, or a sentence whose start was a template, not ".NET".
_NO_SENTENCE = re.compile(r"[|,)\]]|\{\||\.(?![\w.])")
_SENTENCE_END = regex.compile(f"{SENTENCE_END}$")
_LETTER = re.compile(r"[^\W\d_]")
_FILE = re.compile(r"[^:]+:.*\.(jpe?g|png|svg|gif|tiff?|og[gav]|web[mp]|pdf|djvu|mp[34]|wav)$")
# A link to another wiki, in contrast to a title such as "CSI: Miami".
_OTHER_WIKI = re.compile(r"([a-z]{2,3}|simple)(-[a-z-]+)?:(?! )")
# A line break within a paragraph, which is displayed as a space.
_LINE_BREAK = re.compile(r"^([^\s*#;:|!{][^\n]*)\n(?=[^\s*#;:|!{])", re.MULTILINE)
# From each bracket or tag that is not closed, the parser reads to the end of the text. It reads
# this number of characters in about a second.
_MAX_CHARACTERS_READ = 10_000_000


def strip_markup(markup: str, hidden: Collection[str]) -> Tuple[List[str], int]:
    """
    Returns an article's paragraphs of running text, without tables, footnotes, formulas, pictures,
    captions, headings, most templates, and list items that do not end like a sentence; and the
    number of paragraphs that are left out because they cannot be parsed. `hidden` contains the
    prefixes, in lower case, of links that are removed with their text.
    """
    lines: List[str] = []
    num_broken = 0
    for section in _HEADING.split(_LANGUAGE_VARIANTS.sub(r"\1", _INVISIBLE.sub("", markup))):
        whole = _parse(section)
        for code in map(_parse, section.split("\n\n")) if whole is None else [whole]:
            if code is None:
                num_broken += 1
            else:
                lines += _LINE_BREAK.sub(r"\1 ", _render(code, hidden)).split("\n")
    return [line for line in map(_clean_line, lines) if _LETTER.search(line)], num_broken


def _parse(markup: str) -> Any:
    """Returns a `Wikicode`, or `None` if parsing would take too long or nesting is too deep."""
    # The package is an extra, and `--include-package` imports this module for every command.
    import mwparserfromhell

    curly = markup.count("{") - markup.count("}")
    square = markup.count("[") - markup.count("]")
    tags = markup.count("<") - 2 * markup.count("</") - markup.count("/>") - markup.count("<br>")
    num_unclosed = sum(max(0, count) for count in (curly, square, tags))
    if num_unclosed * len(markup) <= _MAX_CHARACTERS_READ:
        with suppress(RecursionError):
            return mwparserfromhell.parse(markup)
    return None


def _render(code: Any, hidden: Collection[str]) -> str:
    """Returns the text of a `Wikicode` or `None`, with the marks of list items."""
    from mwparserfromhell import definitions, nodes

    text = ""
    for node in [] if code is None else code.nodes:
        if isinstance(node, nodes.Text):
            text += _LEFTOVER_MARKUP.sub("", node.value)
        elif isinstance(node, nodes.HTMLEntity):
            text += node.normalize()
        elif isinstance(node, nodes.ExternalLink):
            # A link without a title is displayed as a number or URL.
            text += _render(node.title, hidden)
        elif isinstance(node, nodes.Wikilink):
            target = str(node.title).strip()
            prefix, colon, _ = target.replace("_", " ").lower().partition(":")
            is_hidden = colon and (prefix.strip() in hidden or _FILE.match(target.lower()))
            if not is_hidden and (node.text is not None or not _OTHER_WIKI.match(target)):
                text += _render(node.text, hidden) or target.lstrip(":")
        elif isinstance(node, nodes.Template):
            name, _, value = _render(node.name, hidden).partition(":")
            name = " ".join(name.replace("_", " ").lower().split())
            template = _TEMPLATES.get("lang-" if name.startswith("lang-") else name)
            values = [value] if value else []
            for parameter in node.params if template else []:
                if not parameter.showkey or str(parameter.name).strip() in ("1", "text", "u"):
                    values.append(_render(parameter.value, hidden).strip())
            displayed = template(values) if template and values else _CHARACTERS.get(name, "")
            text += displayed.lower() if node.has("lc") else displayed
        elif isinstance(node, nodes.Tag):
            name = str(node.tag).strip().lower()
            if node.wiki_markup and node.wiki_markup in "*#;:":
                text += node.wiki_markup
            elif name == "nowiki" or definitions.is_parsable(name) and name not in _DROPPED_TAGS:
                content = _render(node.contents, hidden)
                if name == "poem":
                    content = content.replace("\n", "\n\n")
                text += f"\n\n{content}\n\n" if name in _BREAKING_TAGS else content
    return text


def _clean_line(line: str) -> str:
    content = line.lstrip("*#;: ")
    is_item = line[: len(line) - len(content)].strip(": ") != ""
    content = " ".join(_LEFTOVER_PUNCTUATION.sub("", remove_invisible(content)).split())
    # Without one, items are links or bibliography entries, and lines with "!" table headers.
    needs_end = is_item or content.startswith("!")
    is_hidden = needs_end and not _SENTENCE_END.search(content)
    return "" if is_hidden or _NO_SENTENCE.match(content) else content
