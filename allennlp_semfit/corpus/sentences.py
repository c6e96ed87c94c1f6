"""
Splits paragraphs into tokenised sentences, in any language that spaCy knows or "xx".
"""

import re
from typing import Iterable, Iterator, List, NamedTuple, Sequence, Tuple

import spacy
from allennlp.common.checks import ConfigurationError
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokenizer import Tokenizer

_END_MARKS = frozenset(Sentencizer.default_punct_chars)
# “ and ‘ open in English and close in German; what is attached to the word before it closes.
_CLOSING = frozenset("\"'”’“‘»›)]}）］｝」』》〉】") | {"''"}
# These close with a space before them, as in French, unless a word is attached to them.
_CLOSING_ALONE = frozenset("»›)]}")
_NEVER_FIRST = frozenset(".!?,;:%")
_BEFORE_A_WORD = 3
_YEAR_DIGITS = 4

# spaCy takes time quadratic in the length of a word, 6 seconds for 10,000 opening brackets.
_MAX_WORD_CHARACTERS = 2_000
_LONG_WORD = re.compile(rf"(\S{{{_MAX_WORD_CHARACTERS + 1},}})")
# Sudachi, which spaCy uses for Japanese, refuses texts of more than 49,149 bytes.
_MAX_SEGMENTER_CHARACTERS = 10_000
# A vocabulary remembers every string that it has seen. A dump has tens of millions.
_MAX_STRINGS = 500_000

# Control characters (the NUL is one) and lone surrogates. Those that Python takes for whitespace
# are in no token, for the text is split at whitespace.
_NO_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")


class _Token(NamedTuple):
    text: str
    space_after: bool


def normalize_whitespace(text: str) -> str:
    """
    # Parameters

    text : `str`

    # Returns

    `str`
        The words of the text with single spaces between them: no line separator of any kind, no
        control character, no lone surrogate.
    """
    return " ".join(_NO_CHARACTERS.sub(" ", text).split())


class SentenceSplitter:
    """
    The tokens are those of the language's blank spaCy pipeline. A sentence ends at one of the marks
    of spaCy's `Sentencizer`, which knows those of many scripts, with two rules on top. Quotes and
    brackets that close after the mark belong to the sentence, and those that open do not. And what
    follows one of ".!?" begins no sentence if it is a small letter, a comma and the like, or, after
    a full stop, a number other than a year: it goes on after direct speech or an abbreviation, as
    in "No. 5".

    # Parameters

    language : `str`
        A code such as `"en"`; `"xx"` for a language that spaCy does not list.

    # Raises

    `ConfigurationError`
        When spaCy does not know the language, or needs another package for it.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._nlp = self._blank_pipeline()

    def split(self, paragraph: str) -> List[str]:
        """
        # Parameters

        paragraph : `str`

        # Returns

        `List[str]`
            The sentences, tokens joined by one space. Together they have the characters of the
            paragraph in their order, except for whitespace and control characters. A word of more
            than 2,000 characters stays one token, whatever is in it.
        """
        text = normalize_whitespace(paragraph)
        if not text:
            return []
        if len(self._nlp.vocab.strings) > _MAX_STRINGS:
            self._nlp = self._blank_pipeline()
        tokens = list(self._tokens(text))
        return [" ".join(token.text for token in tokens[a:b]) for a, b in _sentence_spans(tokens)]

    def _blank_pipeline(self) -> Language:
        try:
            return spacy.blank(self._language)
        except (ImportError, OSError, ValueError) as error:
            raise ConfigurationError(
                f"spaCy has no tokenizer for the language {self._language!r}: "
                f"{' '.join(str(error).split())} Take a code that it lists, such as 'en', or 'xx' "
                "for any other language."
            ) from error

    def _tokens(self, text: str) -> Iterator[_Token]:
        tokenizer = self._nlp.tokenizer
        for chunk in self._chunks(text):
            if len(chunk) > _MAX_WORD_CHARACTERS and " " not in chunk and self._splits_at_spaces:
                yield _Token(chunk, True)
                continue
            for token in tokenizer(chunk):
                # A language's exceptions may hold a space.
                for word in token.text.split():
                    yield _Token(word, bool(token.whitespace_))

    @property
    def _splits_at_spaces(self) -> bool:
        return isinstance(self._nlp.tokenizer, Tokenizer)

    def _chunks(self, text: str) -> Iterable[str]:
        if not self._splits_at_spaces:
            return _cut(text, _MAX_SEGMENTER_CHARACTERS)
        if len(text) <= _MAX_WORD_CHARACTERS:
            return [text]
        return [chunk.strip() for chunk in _LONG_WORD.split(text) if chunk.strip()]


def _cut(text: str, length: int) -> Iterator[str]:
    while len(text) > length:
        end = text.rfind(" ", 0, length + 1)
        end = end if end > 0 else length
        yield text[:end]
        text = text[end:].lstrip(" ")
    yield text


def _sentence_spans(tokens: Sequence[_Token]) -> Iterator[Tuple[int, int]]:
    start = 0
    index = 0
    while index < len(tokens):
        mark = tokens[index].text
        index += 1
        if mark not in _END_MARKS:
            continue
        while index < len(tokens) and _belongs_to_end(tokens, index):
            if tokens[index].text in _END_MARKS:
                mark = tokens[index].text
            index += 1
        if _may_begin(tokens[index : index + _BEFORE_A_WORD], mark):
            yield start, index
            start = index
    if start < len(tokens):
        yield start, len(tokens)


def _belongs_to_end(tokens: Sequence[_Token], index: int) -> bool:
    text, space_after = tokens[index]
    if not tokens[index - 1].space_after:
        return text in _CLOSING or text in _END_MARKS
    return text in _CLOSING_ALONE and (space_after or index == len(tokens) - 1)


def _may_begin(tokens: Sequence[_Token], mark: str) -> bool:
    if mark not in (".", "!", "?"):
        return True
    if tokens and tokens[0].text in _NEVER_FIRST:
        return False
    for token in tokens:
        if token.text[0].isdigit() and mark == ".":
            return token.text.isdigit() and len(token.text) == _YEAR_DIGITS
        if token.text[0].isalnum():
            return not token.text[0].islower()
    return True
