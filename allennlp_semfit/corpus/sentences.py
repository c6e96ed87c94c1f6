"""Splits text into sentences with sentencex, and into words with spaCy."""

import re
import unicodedata
from itertools import pairwise
from typing import Any, Callable, Iterable, Iterator, List

import numpy
import regex
import sentencex
import spacy
from spacy.attrs import SENT_START
from spacy.lang.char_classes import ALPHA
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.util import (
    DummyTokenizer,
    compile_infix_regex,
    compile_prefix_regex,
    compile_suffix_regex,
    get_lang_class,
)

from allennlp_semfit.common.errors import ConfigurationError

# Maps the marks of Khmer, Tibetan and biblical Hebrew, which spaCy and sentencex do not know, to a
# mark that they know.
_END_MARKS = str.maketrans("។៕།༎\u05c3", "။။။။။")
_SENTENCE_END_MARKS = frozenset([*Sentencizer.default_punct_chars, *map(chr, _END_MARKS)])
# Quotation marks, except next to Chinese or Japanese characters.
_QUOTATION_MARK = r"""
    (?<!\p{EA=W}) (?: ["“”„«»‹›`‘] | (?<!\w)['’] | ['’](?!\w) ) (?!\p{EA=W})
"""
# sentencex never ends a sentence within quotation marks: it would return direct speech of many
# sentences as one, and join all sentences after a mark that is not closed.
_QUOTATION_MARKS = regex.compile(_QUOTATION_MARK, regex.VERBOSE)
# sentencex never ends a sentence within parentheses: "(It rained.) He left."
_PARENTHESES = regex.compile(r"[(\[]([^()\[\]]*[.!?…])[)\]](?= )")
# sentencex ends a sentence at "...", but not at the character "…".
_ELLIPSIS = regex.compile(r"…(?= \W{,4}[\p{Lu}\p{Lo}])")
# French has a space before a closing mark.
_CLOSING = regex.compile(rf"(?:{_QUOTATION_MARK} | [)\]])*+ (?:[ ][»›](?!\S))?", regex.VERBOSE)
# sentencex takes the items of "to (1) measure, and (2) compare" for sentences.
_ITEM_MARK = regex.compile(r"\((\d{1,2}|\p{L}|[ivx]{2,4})\)")
# sentencex ends a sentence after the number of an item, as in "2. Stir it." and "XL. Term".
_ITEM_NUMBER = regex.compile(r"\s*+(?:\d{1,3}(?:\.\d{1,3})*+|[IVXLC]+|[ivx]+|\p{L})\.")
# The rest of a sentence after direct speech: "Go!" she said. Georgian has no capitals.
_CONTINUED_SPEECH = regex.compile(r"(?V1)(?=\s*+[^\w\s])\W{1,9}+[\p{Ll}--\p{Georgian}]")
# sentencex takes these characters for a continuation even after a Chinese mark.
_CONTINUATION = regex.compile(r"([。．｡！？])[\da-z]")
# The time of sentencex is quadratic in the length of text without spaces: 20 seconds for 260,000
# characters of Japanese.
_PART = regex.compile(r"(?:.{,8000}|[^。．｡！？]*+)[。．｡！？][」』”’）]*+|.+")
# For languages without rules, sentencex uses English abbreviations, such as "mi." and "kan.", and
# spaCy takes "e." for one. In these languages, these are words. The rules for Amharic contain no
# abbreviations in Latin letters.
_WITHOUT_ABBREVIATIONS = frozenset(["kmr", "lg", "tn", "xx", "yo"])
# Languages in which sentencex takes many short words for abbreviations, the first ones because it
# has only English rules for them: Swedish "det.", Latin "res.", Italian "te.", Spanish "no.", Dutch
# "dat." Before a capital, these words end a sentence, except the titles and others in
# `_SHORT_WORD`.
_WITH_SHORT_WORDS = frozenset(
    re.findall(
        r"\w+",
        "af az et eu fo ga gd hr hu id is la lt lv ms nb nn ro sl sq sr sv tl tr vi "
        "ca da es fr it lij nl pt",
    )
)
_SHORT_WORD = regex.compile(
    r"""(?<![\w.-])(?!(?:
    adv|arch|arq|avv|bijv|capt|cfr?|col|dhr|dir|doc|dott|dra?|drs|eng|es|etc|evt|ex|fr|frk|gen
    |geom|gral|hr|incl|ing|inkl|ir|jf|jr|lic|mlle|mme|mons|mrs?|ms|mw|on|pl|prof|rag|resp|rev
    |sig|sra?|srta|st|vgl|vs
    )\.)\p{Ll}{2,4}(?=\.[ ]+\p{Lu})""",
    regex.VERBOSE,
)
_WORDS = {
    **dict.fromkeys(_WITH_SHORT_WORDS, _SHORT_WORD),
    "de": regex.compile(r"\bArt(?=\. +\p{Lu})"),
    # "me." for Maine, and units: "Bake 10 min. Stir."
    "en": regex.compile(
        r"(?<![\w.-])(?:art|ill|ma|may|me|miss|ok|ore|pa|ft|hrs?|lb|mi|min|mm|oz|pt|qt|sec|yd)"
        r"(?=\. +\p{Lu})"
    ),
}
# Ancient Greek has the same question mark as Greek.
_RULES = {**dict.fromkeys(_WITHOUT_ABBREVIATIONS, "am"), "grc": "el"}
# Rules of spaCy's tokenizers that are left out. In English, it takes "id" and "wed" for "I'd" and
# "we'd". Its Persian rules are the words with a pronoun or "is" at their end in one treebank: they
# split words that look like them, such as "تنش" (tension), and no words that the treebank lacks.
# Rules of other languages keep the full stop at words that are also abbreviations, such as Dutch
# "dat" and Swedish "min" (my).
_LEFT_OUT = {
    **dict.fromkeys(_WITHOUT_ABBREVIATIONS, re.compile(r"[a-zäöü]\.")),
    "en": re.compile("[Ii]d|[Ww]ed"),
    "fa": re.compile("[\u0600-\u06ff\u200c]+"),
    "da": re.compile(r"(?:el|fem|ind|man)\."),
    "hu": re.compile(r"(?:el|ma|út)\."),
    "la": re.compile(r"(?:id|non|post|pro)\."),
    "nl": re.compile(r"(?:al|bel|best|dat|hand|kon|me|min|pan|pas|red|top|ver|vol)\."),
    **dict.fromkeys(["nb", "nn"], re.compile(r"(?:et|min|ti|to)\.")),
    "sl": re.compile(r"(?!(?:dr|itd|npr|oz|prof|str|ul|št)\.)[a-zčšž]{2,4}\."),
    "sv": re.compile(r"(?:el|min|ung)\."),
    "tr": re.compile(r"(?:bul|sok)\."),
}
# sentencex ends a sentence within "३.५" and, mostly, after ordinals and abbreviations, as
# in "am 8. mai" and "w 1849 r. w Krakowie". Georgian sentences begin with such letters.
_NUMBER_STOP = regex.compile(r"(?V1)(?<=\p{Nd})\.(?=\p{Nd}| [\p{Ll}--\p{Georgian}])")
_ABBREVIATION_STOP = regex.compile(
    r"(?V1)(?<=(?<![\w'’])\p{L}|\.\p{L}{1,3})\.(?= [\p{Ll}--\p{Georgian}])"
)
# Abbreviations that are missing from the rules.
_ABBREVIATIONS = {
    **dict.fromkeys(["de", "lb"], regex.compile(r"(?<=\b\d\d?)\.(?= \p{L})")),
    "fr": regex.compile(r"(?<=\bMM?)\.(?= \p{Lu})"),
    **dict.fromkeys(
        _WITHOUT_ABBREVIATIONS,
        regex.compile(r"(?<=\b(?:\p{Lu}|Mrs?|Dr|Hon|Prof|Rev|St))\.(?= \p{Lu})"),
    ),
}

# spaCy's time is quadratic in the length of a word: 6 seconds for 10,000 opening brackets.
_MAX_WORD_CHARACTERS = 2_000
_LONG_WORD = re.compile(rf"(\S{{{_MAX_WORD_CHARACTERS + 1},}})")
# Sudachi, spaCy's Japanese tokenizer, does not accept texts of more than 49,149 bytes.
_MAX_SEGMENTER_CHARACTERS = 10_000
# spaCy's vocabulary keeps every string that it has seen. A dump contains tens of millions.
_MAX_STRINGS = 500_000

# spaCy's suffixes split off a full stop only after the letters in `ALPHA`, which lacks diacritics,
# as in Yoruba's "rẹ̀.", and scripts such as Georgian's, and they contain few of the end marks.
_END_MARK = f"[{''.join(sorted(mark for mark in _SENTENCE_END_MARKS if not mark.isascii()))}]"
# The brackets of quotations from the Quran
_BRACKET = "[\ufd3e\ufd3f]"
_SUFFIXES = [rf"(?<=[^\x00-\x7f])(?<![{ALPHA}])\.", _END_MARK, _BRACKET]
# Urdu text often lacks the space after a mark: "گیا۔اس".
_END_INFIX = rf"{_END_MARK}(?=[^\W\d_])"
# spaCy's suffixes of these languages split off a full stop only after two letters, in Arabic and
# Persian without diacritics, and so not in "2014." and `".`.
_STOP_SUFFIXES = dict.fromkeys(
    ["am", "ar", "fa", "grc", "ht", "ti"], [r"(?<=[0-9])\.", r"(?<=[^.][^.])\."]
)

# Tokens do not end within a grapheme cluster, such as a letter with its diacritics, a flag or an
# emoji of several characters.
_CLUSTER = regex.compile(r"\X")
_PART_OF_CLUSTER = regex.compile(
    r"[^\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]"
)
# In Chinese text, spaCy splits even words and numbers in other scripts into characters. Unicode's
# word boundaries (UAX #29) keep these whole, but omit the one between a lone diacritic and a space.
_WORD = regex.compile(r"(?w).+?(?:\b|(?=\s))", regex.DOTALL)

# Control characters, spaces without width and lone surrogates, except those that `str.split` treats
# as whitespace.
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\ud800-\udfff]")
# Ligatures of PDF files and scanned text, such as "ﬁ", and Arabic presentation forms: letters in
# the form that they have at their place in a word.
_LIGATURES = re.compile("[\ufb00-\ufb06\ufb50-\ufbb1\ufbd3-\ufbff\ufe80-\ufefc]")
_MAYBE_INVISIBLE = regex.compile(r"\p{DI}")
# Characters that are not shown, and in a group those that change how their neighbors are shown:
# joiners of letters, in Mongolian also other controls, and parts of emoji. Without the bounds, the
# time would be quadratic in the length of a run.
_INVISIBLE = regex.compile(
    r"""(
        (?<=WORD\p{DI}{0,9})
        (?: \u200d | \u200c (?=\p{DI}{0,9}WORD) )
        | (?<=\p{Mongolian}) \p{Block=Mongolian}
        | (?<=\p{ExtPict}) \ufe0f
        | \ufe0f (?=\u20e3)
        | (?<=\p{ExtPict} \p{Emoji_Component}{0,9})
        (?: \u200d (?=\p{ExtPict}) | [\U000e0020-\U000e007f] )
    ) | \p{DI}""".replace("WORD", r"[[\p{L}\p{M}\p{N}]--\p{DI}]"),
    regex.VERBOSE | regex.V1,
)


def normalize(text: str) -> str:
    """
    Converts text to Unicode's normalization form C, so that a letter with diacritics is always the
    same characters, and separates the words by single spaces. Line separators, control characters,
    zero-width spaces and lone surrogates count as spaces. Ligatures of PDF files, such as `ﬁ`, and
    Arabic presentation forms are written as letters. See also `remove_invisible`.
    """
    text = _CONTROL_CHARACTERS.sub(" ", text)
    text = _LIGATURES.sub(lambda ligature: unicodedata.normalize("NFKC", ligature[0]), text)
    return unicodedata.normalize("NFC", " ".join(remove_invisible(text).split()))


def remove_invisible(text: str) -> str:
    """
    Removes invisible characters (Unicode's `Default_Ignorable_Code_Point`), such as soft hyphens
    and direction marks, except those that join or separate letters (U+200C, U+200D) and those
    within emoji.
    """
    if text.isascii() or not _MAYBE_INVISIBLE.search(text):
        return text
    return _INVISIBLE.sub(r"\1", text)


def blank_pipeline(language: str) -> Language:
    """
    Returns the spaCy pipeline with which `prepare-corpus` splits text into words and sentences:
    the language's blank pipeline, with these changes.

    - `doc.text` is the normalized text: in Unicode's normalization form C, with single spaces
      between words, without invisible characters, and with letters for ligatures such as `ﬁ`.
    - A grapheme cluster is never split, and full stops and other marks are split off in any script.
      Chinese is split into characters, but words and numbers in other scripts are not.
    - In English, `id` and `wed` are words, not *I'd* and *we'd*. Persian words keep their endings.
    - A word of more than 2,000 characters is not split.
    - [sentencex](https://github.com/wikimedia/sentencex), which supports about 300 languages, finds
      the ends of sentences, also within quotation marks. The number of an item, as in "2. Stir
      it.", belongs to its sentence.

    To load a saved pipeline, import this module before `spacy.load`.

    # Parameters

    language : `str`
        A code such as `"en"`, or `"xx"` for a language that spaCy does not support.

    # Raises

    `ConfigurationError`
        If spaCy does not support the language, or needs another package for it.
    """
    try:
        tokenizer = get_lang_class(language).default_config["nlp"]["tokenizer"]
        config = {"nlp": {"tokenizer": {"@tokenizers": "semfit_tokenizer", "base": tokenizer}}}
        pipeline = spacy.blank(language, config=config)
    except (ImportError, OSError, ValueError) as error:
        raise ConfigurationError(
            f"spaCy has no tokenizer for the language {language!r}: "
            f"{' '.join(str(error).split()).rstrip('.')}. Use a code that it supports, such as "
            "'en', or 'xx' for any other language."
        ) from error
    pipeline.add_pipe("semfit_sentences")
    return pipeline


class SentenceSplitter:
    """
    Splits text into sentences and words as `prepare-corpus` does, with `blank_pipeline`; see there
    for the parameter and the errors.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._nlp = blank_pipeline(language)

    def split(self, paragraph: str) -> List[str]:
        """
        Returns the sentences, with their tokens joined by single spaces. All characters of the
        normalized paragraph are kept in order.
        """
        if len(self._nlp.vocab.strings) > _MAX_STRINGS:
            self._nlp = blank_pipeline(self._language)
        # `self._nlp(paragraph)` would limit the length of the text.
        doc = self._nlp(self._nlp.tokenizer(paragraph))
        return [" ".join(token.text for token in sentence) for sentence in doc.sents]


@spacy.registry.tokenizers("semfit_tokenizer")
def _create_tokenizer(base: Callable[[Language], Any]) -> Callable[[Language], "_Tokenizer"]:
    return lambda nlp: _Tokenizer(nlp, base(nlp))


class _Tokenizer(DummyTokenizer):
    def __init__(self, nlp: Language, base: Any) -> None:
        self._vocab = nlp.vocab
        self._base = base
        self._splits_on_whitespace = isinstance(base, Tokenizer)
        # Tokenizer exceptions of some languages contain spaces. That of a space never occurs.
        self._keeps_spaces_out = self._splits_on_whitespace and not any(
            " " in rule and not rule.isspace() for rule in base.rules
        )
        self._splits_characters = getattr(base, "segmenter", None) == "char"
        if self._splits_on_whitespace:
            suffixes = [*(nlp.Defaults.suffixes or ()), *_SUFFIXES]
            if nlp.lang in _STOP_SUFFIXES:
                suffixes += _STOP_SUFFIXES[nlp.lang]
            base.suffix_search = compile_suffix_regex(suffixes).search
            prefixes = [*(nlp.Defaults.prefixes or ()), _BRACKET]
            base.prefix_search = compile_prefix_regex(prefixes).search
            infixes = [*(nlp.Defaults.infixes or ()), _END_INFIX]
            base.infix_finditer = compile_infix_regex(infixes).finditer
        if nlp.lang in _LEFT_OUT:
            is_left_out = _LEFT_OUT[nlp.lang].fullmatch
            base.rules = {text: rule for text, rule in base.rules.items() if not is_left_out(text)}

    def __call__(self, text: str) -> Doc:
        text = normalize(text)
        docs = [self._tokenize(chunk) for chunk in self._chunks(text)]
        whole = _WORD if self._splits_characters else _CLUSTER
        is_plain = text.isascii() or not _PART_OF_CLUSTER.search(text)
        if self._keeps_spaces_out and is_plain and len(docs) == 1:
            return docs[0]
        ends = {match.end() for match in whole.finditer(text)}
        words: List[str] = []
        spaces: List[bool] = []
        start = end = 0
        for part in (part for doc in docs for token in doc for part in token.text.split()):
            end += len(part)
            # After some characters, such as an Arabic end of ayah, a space is part of the cluster.
            if end in ends or text[end : end + 1] in ("", " "):
                words.append(text[start:end])
                spaces.append(text.startswith(" ", end))
                start = end = end + spaces[-1]
        return Doc(self._vocab, words, spaces)

    def _tokenize(self, chunk: str) -> Doc:
        is_long_word = len(chunk) > _MAX_WORD_CHARACTERS and " " not in chunk
        if is_long_word and self._splits_on_whitespace:
            return Doc(self._vocab, [chunk], [False])
        return self._base(chunk)

    def _chunks(self, text: str) -> Iterable[str]:
        if not self._splits_on_whitespace:
            return split_text(text, _MAX_SEGMENTER_CHARACTERS)
        if len(text) <= _MAX_WORD_CHARACTERS:
            return [text]
        return [chunk.strip() for chunk in _LONG_WORD.split(text) if chunk.strip()]


@Language.component("semfit_sentences", assigns=["token.is_sent_start", "doc.sents"])
def _set_sentence_starts(doc: Doc) -> Doc:
    # An end within a token does not count.
    ends = {0, *_sentence_ends(doc.text, doc.lang_ or "xx")}
    if doc.lang_ in _WITH_SHORT_WORDS:
        # spaCy keeps the stop of an abbreviation at its word, as in "kl. 12.30".
        ends -= {
            token.idx + len(token)
            for token, after in pairwise(doc)
            if token.text[0].isalpha() and token.text[-1] == "." and after.text[0].isdigit()
        }
    ends_of_tokens = [0, *(token.idx + len(token) for token in doc)]
    starts = [1 if end in ends else -1 for end in ends_of_tokens[:-1]]
    values: Any = numpy.array(starts).astype(numpy.uint64)[:, None]
    # Setting `token.is_sent_start` would take quadratic time.
    return doc.from_array([SENT_START], values)


def _sentence_ends(text: str, language: str) -> List[int]:
    """The indices in normalized text where a sentence ends."""
    masked = _ITEM_MARK.sub(r"A\1A", _CONTINUATION.sub(r"\1A", text))
    masked = _PARENTHESES.sub(r" \1 ", _QUOTATION_MARKS.sub(" ", masked)).translate(_END_MARKS)
    masked = _NUMBER_STOP.sub("-", _ELLIPSIS.sub(".", masked))
    if language not in _WITHOUT_ABBREVIATIONS:
        masked = _ABBREVIATION_STOP.sub("-", masked)
    if language in _ABBREVIATIONS:
        masked = _ABBREVIATIONS[language].sub("-", masked)
    if language in _WORDS:
        masked = _WORDS[language].sub(lambda word: len(word[0]) * "ß", masked)
    ends: List[int] = []
    start = 0
    for end in _ends_of_sentencex(masked, language):
        if _CONTINUED_SPEECH.match(text, end):
            continue
        end = _CLOSING.match(text, end).end()
        if _ITEM_NUMBER.fullmatch(text, start, end):
            continue
        if regex.search(r"\w", text, pos=start, endpos=end):
            ends.append(end)
        elif ends:
            # Marks that follow those of a sentence
            ends[-1] = end
        start = end
    return ends


def _ends_of_sentencex(text: str, language: str) -> Iterator[int]:
    for part in _PART.finditer(text):
        rules = _RULES.get(language, language)
        for sentence in sentencex.get_sentence_boundaries(rules, part[0]):
            yield part.start() + sentence["start_index"] + len(sentence["text"].rstrip())


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
