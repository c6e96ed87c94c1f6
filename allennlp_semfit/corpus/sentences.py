"""
Splits paragraphs into tokenised sentences, in any language that spaCy supports or "xx".
"""

import re
import unicodedata
from typing import Iterable, Iterator, List, NamedTuple, Sequence, Tuple

import spacy
from allennlp.common.checks import ConfigurationError
from spacy.lang.char_classes import ALPHA
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokenizer import Tokenizer
from spacy.util import compile_suffix_regex

_SENTENCE_END_MARKS = frozenset(Sentencizer.default_punct_chars)
# “ and ‘ open in English and close in German. After a word without a space, they close, except
# after the marks of Chinese, which has no spaces.
_CLOSING = frozenset("\"'”’“‘»›)]}）］｝」』》〉】") | {"''"}
_AMBIGUOUS = frozenset("“‘")
_BEFORE_OPENING = frozenset("。．｡！？”’")
# These close also after a space, as in French, unless a word follows without a space.
_CLOSING_AFTER_SPACE = frozenset("»›)]}")
_NEVER_SENTENCE_INITIAL = frozenset(".!?,;:%")
_MAX_TOKENS_TO_FIRST_WORD = 3
_YEAR_DIGITS = 4

# spaCy's time is quadratic in the length of a word: 6 seconds for 10,000 opening brackets.
_MAX_WORD_CHARACTERS = 2_000
_LONG_WORD = re.compile(rf"(\S{{{_MAX_WORD_CHARACTERS + 1},}})")
# Sudachi, spaCy's Japanese tokenizer, does not accept texts of more than 49,149 bytes.
_MAX_SEGMENTER_CHARACTERS = 10_000
# spaCy's vocabulary keeps every string that it has seen. A dump has tens of millions.
_MAX_STRINGS = 500_000

# What spaCy's suffixes lack. They split off a full stop after the letters in `ALPHA`, which lacks
# diacritics, as in Yoruba's "rẹ̀.", and scripts such as Georgian's, and few of the end marks.
_SUFFIXES = [
    rf"(?<=[^\x00-\x7f])(?<![{ALPHA}])\.",
    f"[{''.join(sorted(mark for mark in _SENTENCE_END_MARKS if not mark.isascii()))}]",
]

# Control characters, spaces without width and lone surrogates, except those that `str.split` treats
# as whitespace.
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\ud800-\udfff]")
# Soft hyphens, marks of the direction, word joiners and byte order marks.
INVISIBLE_CHARACTERS = re.compile("[\xad\u200e\u200f\u202a-\u202e\u2060\ufeff]")


class _Token(NamedTuple):
    text: str
    space_after: bool


def normalize(text: str) -> str:
    """
    Brings text to Unicode's normalization form C, so that a letter with diacritics is always the
    same characters, and separates the words by single spaces. Line separators, control characters,
    spaces without width and lone surrogates count as spaces. Characters that are not shown, such as
    soft hyphens, are removed; those that join letters or keep them apart (U+200C, U+200D) are not.
    """
    text = _CONTROL_CHARACTERS.sub(" ", INVISIBLE_CHARACTERS.sub("", text))
    return unicodedata.normalize("NFC", " ".join(text.split()))


class SentenceSplitter:
    """
    Tokenises with the language's blank spaCy pipeline. A sentence ends at an end mark of spaCy's
    `Sentencizer`, which has those of many scripts, with two additional rules:

    - Closing quotes and brackets after the mark belong to the sentence; opening ones do not.
    - The sentence continues after ".!?" if a lower-case letter or a mark such as a comma follows,
      or, after a full stop, a number that is not a year: after direct speech or an abbreviation, as
      in "No. 5".

    # Parameters

    language : `str`
        A code such as `"en"`, or `"xx"` for a language that spaCy does not support.

    # Raises

    `ConfigurationError`
        If spaCy does not support the language, or needs another package for it.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._nlp = self._blank_pipeline()

    def split(self, paragraph: str) -> List[str]:
        """
        Returns the sentences, with their tokens joined by single spaces. All characters of the
        paragraph, after `normalize`, are kept in order. A word of more than 2,000 characters is not
        split.
        """
        text = normalize(paragraph)
        if not text:
            return []
        if len(self._nlp.vocab.strings) > _MAX_STRINGS:
            self._nlp = self._blank_pipeline()
        tokens = list(self._tokens(text))
        return [" ".join(token.text for token in tokens[a:b]) for a, b in _sentence_spans(tokens)]

    def _blank_pipeline(self) -> Language:
        try:
            pipeline = spacy.blank(self._language)
        except (ImportError, OSError, ValueError) as error:
            raise ConfigurationError(
                f"spaCy has no tokenizer for the language {self._language!r}: "
                f"{' '.join(str(error).split()).rstrip('.')}. Use a code that it supports, such as "
                "'en', or 'xx' for any other language."
            ) from error
        if isinstance(pipeline.tokenizer, Tokenizer):
            suffixes = [*(pipeline.Defaults.suffixes or ()), *_SUFFIXES]
            pipeline.tokenizer.suffix_search = compile_suffix_regex(suffixes).search
        return pipeline

    def _tokens(self, text: str) -> Iterator[_Token]:
        tokenizer = self._nlp.tokenizer
        for chunk in self._chunks(text):
            is_long_word = len(chunk) > _MAX_WORD_CHARACTERS and " " not in chunk
            if is_long_word and self._splits_on_whitespace:
                yield _Token(chunk, True)
                continue
            for token in tokenizer(chunk):
                # Tokenizer exceptions of a language may contain spaces.
                for word in token.text.split():
                    yield _Token(word, bool(token.whitespace_))

    @property
    def _splits_on_whitespace(self) -> bool:
        return isinstance(self._nlp.tokenizer, Tokenizer)

    def _chunks(self, text: str) -> Iterable[str]:
        if not self._splits_on_whitespace:
            return split_text(text, _MAX_SEGMENTER_CHARACTERS)
        if len(text) <= _MAX_WORD_CHARACTERS:
            return [text]
        return [chunk.strip() for chunk in _LONG_WORD.split(text) if chunk.strip()]


def split_text(text: str, max_length: int) -> Iterator[str]:
    """Yields parts of at most `max_length` characters, which end at a space if there is one."""
    start = 0
    while len(text) - start > max_length:
        end = text.rfind(" ", start, start + max_length + 1)
        end = end if end > start else start + max_length
        yield text[start:end]
        start = end
        while text.startswith(" ", start):
            start += 1
    yield text[start:]


def _sentence_spans(tokens: Sequence[_Token]) -> Iterator[Tuple[int, int]]:
    start = 0
    index = 0
    while index < len(tokens):
        mark = tokens[index].text
        index += 1
        if mark not in _SENTENCE_END_MARKS:
            continue
        while index < len(tokens) and _closes_sentence(tokens, index):
            if tokens[index].text in _SENTENCE_END_MARKS:
                mark = tokens[index].text
            index += 1
        if _can_start_sentence(tokens[index : index + _MAX_TOKENS_TO_FIRST_WORD], mark):
            yield start, index
            start = index
    if start < len(tokens):
        yield start, len(tokens)


def _closes_sentence(tokens: Sequence[_Token], index: int) -> bool:
    before, (text, space_after) = tokens[index - 1 : index + 1]
    if before.space_after:
        return text in _CLOSING_AFTER_SPACE and (space_after or index == len(tokens) - 1)
    if text in _AMBIGUOUS and before.text in _BEFORE_OPENING:
        return False
    return text in _CLOSING or text in _SENTENCE_END_MARKS


def _can_start_sentence(tokens: Sequence[_Token], mark: str) -> bool:
    if mark not in (".", "!", "?"):
        return True
    if tokens and tokens[0].text in _NEVER_SENTENCE_INITIAL:
        return False
    for token in tokens:
        if token.text[0].isdigit() and mark == ".":
            return token.text.isdigit() and len(token.text) == _YEAR_DIGITS
        if token.text[0].isalnum():
            return not _is_lower_case(token.text[0])
    return True


def _is_lower_case(letter: str) -> bool:
    """Not those of Georgian, which has capitals only where all letters are."""
    return letter.islower() and letter.title() != letter
