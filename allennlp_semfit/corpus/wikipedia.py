"""
Streams the articles of a MediaWiki dump.

gensim has a function for this, `extract_pages`. It keeps an empty element for each page that it has
read (84 MB for a million pages), and says neither which pages are redirects nor what the dump's
language calls its namespaces, by which pictures and categories are told from text.
"""

from typing import IO, FrozenSet, Iterator, Set, Tuple
from xml.etree.ElementTree import Element, iterparse

# The keys of the namespaces whose links are no text: Media, File, Category.
_HIDDEN_KEYS = {"-2", "6", "14"}
# These names work in a wiki of any language, besides its own.
_HIDDEN_NAMES = {"media", "file", "image", "category"}
_ARTICLE_KEY = "0"


def read_articles(stream: IO[bytes]) -> Iterator[Tuple[str, FrozenSet[str]]]:
    """
    # Parameters

    stream : `IO[bytes]`
        The XML of a `pages-articles` dump.

    # Returns

    `Iterator[Tuple[str, FrozenSet[str]]]`
        The wiki markup of each article (no redirects, no talk pages, no templates), and the names,
        in lower case, of the namespaces whose links are no text.

    # Raises

    `xml.etree.ElementTree.ParseError`
        When the XML is damaged, or ends too early.
    """
    events = iterparse(stream, events=("start", "end"))
    _, root = next(events)
    prefix = root.tag[: root.tag.find("}") + 1]
    page_tag, siteinfo_tag = prefix + "page", prefix + "siteinfo"
    hidden = frozenset(_HIDDEN_NAMES)
    for event, element in events:
        if event == "start":
            continue
        if element.tag == siteinfo_tag:
            hidden = frozenset(_HIDDEN_NAMES | _hidden_names(element, prefix))
        elif element.tag == page_tag:
            text = _article_text(element, prefix)
            # Not `element.clear()`: the root would keep an empty element for each page.
            root.clear()
            if text:
                yield text, hidden


def _hidden_names(siteinfo: Element, prefix: str) -> Set[str]:
    return {
        namespace.text.lower()
        for namespace in siteinfo.iter(prefix + "namespace")
        if namespace.get("key") in _HIDDEN_KEYS and namespace.text
    }


def _article_text(page: Element, prefix: str) -> str:
    if (
        page.findtext(prefix + "ns", _ARTICLE_KEY) != _ARTICLE_KEY
        or page.find(prefix + "redirect") is not None
        or page.findtext(f"{prefix}revision/{prefix}model", "wikitext") != "wikitext"
    ):
        return ""
    text = page.findtext(f"{prefix}revision/{prefix}text") or ""
    # Old dumps have no element for it.
    return "" if text[:9].lower() == "#redirect" else text
