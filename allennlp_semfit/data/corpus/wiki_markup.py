"""
Strips wiki markup.

gensim's `filter_wiki` leaves headings, bullets, the quotes of bold and italic type, the cells of
tables and the file names of galleries in the text, and takes everything between a "less than" and
the next "greater than" out of it. Here markup that nests is matched by its brackets in one pass, so
that an article takes time in proportion to its length, however broken it is.
"""

import html
import re
from typing import Collection, Dict, List, Match, NamedTuple

from allennlp_semfit.data.corpus.wiki_templates import render_template

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOWIKI = re.compile(r"<nowiki>([^<]*(?:<(?!/?nowiki>)[^<]*)*)</nowiki>", re.IGNORECASE)
# Elements that go together with what is in them.
_DROPPED_ELEMENT = re.compile(
    r"<(/?)(ref|references|math|chem|ce|gallery|timeline|imagemap|score|source|syntaxhighlight"
    r"|pre|table|hiero|graph|mapframe|maplink|categorytree|inputbox|templatedata|templatestyles"
    r"|indicator|style|script)\b([^<>]*)>",
    re.IGNORECASE,
)
_BRACKET = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|^[ \t:*#]*\{\||^[ \t:*#]*\|\}(?!\})|\n[ \t]*\n", re.MULTILINE
)
_CLOSES = {"}}": "{{", "]]": "[[", "|}": "{|"}
_LANGUAGE_VARIANT = re.compile(r"-\{([^{}]*)\}-")
_EXTERNAL_LINK = re.compile(
    r"\[(?:[a-z]{3,9}:)?//[^\s\[\]]*(?:[^\S\n]([^\[\]\n]*))?\]|\[mailto:[^\[\]\n]*\]", re.IGNORECASE
)
_EXPONENT = re.compile(r"(?<=\d)<sup>", re.IGNORECASE)
_BREAK = re.compile(
    r"</?(?:br|p|div|center|blockquote|poem|li|ul|ol|dl|dd|dt|hr|h[1-6]|tr|td|th)\b[^<>]*>",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_MAGIC_WORD = re.compile(r"__[^\W\d_]+__")

_LIST_MARKS = re.compile(r"[*#:;]+")
_NO_TEXT = re.compile(r"=.*=$|-{4,}|[|!]|\{\||\|?\}")
_QUOTES = re.compile(r"'{2,}")
_LEFT_BRACKETS = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+")
# What a template leaves behind it where it stood between brackets or marks.
_EMPTY_BRACKETS = re.compile(r"[(（]\s*(?:[,;:،、]\s*)*[)）]")
_BRACKET_COMMA = re.compile(r"(?<=[(（])\s*(?:[,;:]\s*)+|(?<![\s,;:])\s*(?:[,;:]\s*)+(?=[)）])")
_COMMAS = re.compile(r"(?<![\s,;])\s*[,;](?:\s*[,;])*(?=\s*[,;.](?:\s|$))")
_LONELY_MARKS = re.compile(r"(?<=[.!?])(?:\s+[.,;])+(?=\s|$)")
_HEADLESS = re.compile(r"[,;:.)\]]")
_SENTENCE_END = re.compile(r"[.!?…。！？।॥։؟۔።။][\"'”’»)\]」』]*$")
_LETTER = re.compile(r"[^\W\d_]")
_INVISIBLE = {
    ord(c): None for c in "\xad\u200b\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e"
}

_FILE_NAME = re.compile(
    r"[^:\n]+:[^\n]*\.(?:jpe?g|png|svg|gif|tiff?|og[gav]|web[mp]|pdf|djvu|mp[34]|wav|flac|mid|xcf)$",
    re.IGNORECASE,
)
_INTERLANGUAGE = re.compile(r"(?:[a-z]{2,3}|simple)(?:-[a-z-]+)?$")


class _Open(NamedTuple):
    bracket: str
    pieces: List[str]


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
    text = _COMMENT.sub("", markup)
    text = _NOWIKI.sub(_escape, text)
    text = _drop_elements(text)
    text = _BracketResolver(hidden_namespaces).resolve(text)
    text = _LANGUAGE_VARIANT.sub(_first_variant, text)
    text = _EXTERNAL_LINK.sub(r"\1", text)
    text = _EXPONENT.sub("^", text)
    text = _BREAK.sub("\n", text)
    text = _TAG.sub("", text)
    text = _MAGIC_WORD.sub("", text)
    paragraphs = (_clean_line(line.strip()) for line in text.split("\n"))
    return [paragraph for paragraph in paragraphs if _LETTER.search(paragraph)]


def _escape(match: Match[str]) -> str:
    return "".join(f"&#{ord(c)};" if c in "[]{}|'=*#:;<>!_-" else c for c in match[1])


def _drop_elements(text: str) -> str:
    kept: List[str] = []
    start = 0
    inside = ""
    for match in _DROPPED_ELEMENT.finditer(text):
        closing, name, attributes = bool(match[1]), match[2].lower(), match[3]
        if inside:
            if name != inside:
                continue
            if not closing:
                # The element before was never closed.
                kept.append(text[start : match.start()])
        else:
            kept.append(text[start : match.start()])
        inside = "" if closing or attributes.endswith("/") else name
        start = match.end()
    if inside:
        # Nobody closed it: it ends with its paragraph.
        start = text.find("\n\n", start)
        return "".join(kept) + (text[start:] if start >= 0 else "")
    return "".join(kept) + text[start:]


class _BracketResolver:
    def __init__(self, hidden_namespaces: Collection[str]) -> None:
        self._hidden_namespaces = hidden_namespaces
        self._stack = [_Open("", [])]
        self._counts: Dict[str, int] = dict.fromkeys(_CLOSES.values(), 0)

    def resolve(self, text: str) -> str:
        start = 0
        for match in _BRACKET.finditer(text):
            self._stack[-1].pieces.append(text[start : match.start()])
            self._read(match[0].strip(" \t:*#"))
            start = match.end()
        self._stack[-1].pieces.append(text[start:])
        while len(self._stack) > 1:
            self._abandon()
        return "".join(self._stack[0].pieces)

    def _read(self, bracket: str) -> None:
        if not bracket.strip():
            # No link spans paragraphs.
            while self._stack[-1].bracket == "[[":
                self._abandon()
            self._stack[-1].pieces.append("\n\n")
        elif bracket not in _CLOSES:
            self._stack.append(_Open(bracket, []))
            self._counts[bracket] += 1
        elif self._counts[_CLOSES[bracket]]:
            while self._stack[-1].bracket != _CLOSES[bracket]:
                self._abandon()
            content = self._pop()
            if bracket == "]]":
                content = _render_link(content, self._hidden_namespaces)
            else:
                content = render_template(content) if bracket == "}}" else ""
            self._stack[-1].pieces.append(content)

    def _abandon(self) -> None:
        """What was opened and never closed is text, except for a template's first paragraph."""
        bracket = self._stack[-1].bracket
        content = self._pop()
        if bracket == "{{":
            _, gap, content = content.partition("\n\n")
            content = gap + content
        elif bracket == "{|":
            # The rows are known by their first character.
            content = "\n|" + content
        self._stack[-1].pieces.append(content)

    def _pop(self) -> str:
        opened = self._stack.pop()
        self._counts[opened.bracket] -= 1
        return "".join(opened.pieces)


def _render_link(content: str, hidden_namespaces: Collection[str]) -> str:
    target, _, label = content.partition("|")
    target = target.strip()
    if not target.startswith(":"):
        prefix, colon, _ = target.partition(":")
        prefix = prefix.strip().replace("_", " ").lower()
        if colon and (
            prefix in hidden_namespaces
            or _FILE_NAME.match(target)
            or (not label and _INTERLANGUAGE.match(prefix))
        ):
            return ""
    return label or target.lstrip(":")


def _first_variant(match: Match[str]) -> str:
    first = match[1].split(";")[0]
    return first.rpartition(":")[2]


def _clean_line(line: str) -> str:
    if _NO_TEXT.match(line):
        return ""
    marks = _LIST_MARKS.match(line)
    if marks:
        line = line[marks.end() :].strip()
    line = _QUOTES.sub(_apostrophes, line)
    line = _LEFT_BRACKETS.sub("", line)
    line = html.unescape(line).translate(_INVISIBLE)
    line = _EMPTY_BRACKETS.sub("", line)
    line = _BRACKET_COMMA.sub("", line)
    line = _LONELY_MARKS.sub("", _COMMAS.sub("", line))
    line = " ".join(line.split())
    # An item of a list may be a sentence, the name of another article, or a row of a bibliography.
    if marks and marks[0].strip(":") and not _SENTENCE_END.search(line):
        return ""
    # Its subject was a template.
    if _HEADLESS.match(line):
        return ""
    return line


def _apostrophes(match: Match[str]) -> str:
    count = len(match[0])
    return {4: "'"}.get(count, "'" * max(0, count - 5))
