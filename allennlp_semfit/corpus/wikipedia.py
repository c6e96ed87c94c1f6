"""
Streams the articles of a MediaWiki dump.

gensim's `extract_pages` is not used because it keeps an empty element for each page (84 MB for a
million pages), and returns neither which pages are redirects nor the names of the namespaces in the
dump's language, which are needed to remove pictures and categories.
"""

from typing import IO, FrozenSet, Iterator, Tuple
from xml.etree.ElementTree import Element, iterparse

# The keys of the namespaces whose links are not text: Media, File, Category.
_HIDDEN_KEYS = {"-2", "6", "14"}
# The English names work in a wiki of any language.
_HIDDEN_NAMES = frozenset(["media", "file", "image", "category"])
_ARTICLE_KEY = "0"


def read_articles(stream: IO[bytes]) -> Iterator[Tuple[str, FrozenSet[str]]]:
    """
    Yields the wiki markup of each article in the XML of a dump, and the names, in lower case, of
    the namespaces whose links are not text. Redirects, talk pages and templates are skipped. The
    last revision of a page is used.

    # Raises

    `xml.etree.ElementTree.ParseError`
        If the XML is damaged or truncated.
    """
    events = iterparse(stream, events=("start", "end"))
    _, root = next(events)
    prefix = root.tag[: root.tag.find("}") + 1]
    page_tag, siteinfo_tag = prefix + "page", prefix + "siteinfo"
    revision_tag = prefix + "revision"
    revision = None
    hidden = _HIDDEN_NAMES
    for event, element in events:
        if event == "start":
            if element.tag == revision_tag:
                if revision is not None:
                    # In a dump with history, a page may have thousands of revisions.
                    revision.clear()
                revision = element
            continue
        if element.tag == siteinfo_tag:
            hidden |= {
                namespace.text.lower()
                for namespace in element.iter(prefix + "namespace")
                if namespace.get("key") in _HIDDEN_KEYS and namespace.text
            }
        elif element.tag == page_tag:
            text = "" if revision is None else _article_text(element, revision, prefix)
            revision = None
            # With `element.clear()`, the root would keep an empty element for each page.
            root.clear()
            if text:
                yield text, hidden


def _article_text(page: Element, revision: Element, prefix: str) -> str:
    if (
        page.findtext(prefix + "ns", _ARTICLE_KEY) != _ARTICLE_KEY
        or page.find(prefix + "redirect") is not None
        or revision.findtext(prefix + "model", "wikitext") != "wikitext"
    ):
        return ""
    text = revision.findtext(prefix + "text") or ""
    # Old dumps do not have a redirect element.
    return "" if text[:9].lower() == "#redirect" else text
