"""Detects whether lines are text, hard-wrapped, or in a script without spaces."""

import logging
from collections import Counter
from itertools import groupby, pairwise
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

import regex
from allennlp.common.checks import ConfigurationError
from more_itertools import constrained_batches

logger = logging.getLogger(__name__)


class _Format(NamedTuple):
    """
    A kind of line other than text. Lines are of this kind if `find` returns the same nonzero value
    for at least `min_share` of them or, with `may_be_first`, a nonzero value for the first line.
    """

    find: Callable[[str], int]
    min_share: float
    kind: str
    remedy: str
    may_be_first: bool = False


# Scripts without spaces: Chinese and Japanese, by the segment break transformation rules of CSS
# Text, and Thai, Khmer, Lao and Burmese.
_NO_SPACES = r"[[\p{EA=W}\p{EA=F}\p{EA=H}\p{LB=SA}]--\p{Hangul}]"
_COLUMN = (
    "If the first line names the columns, name the one with the text, such as --field text; if "
    "not, add such a line."
)
_NUMBERS = r"Remove the numbers first, for instance with `grep -vE '^([0-9]+\s*$|WEBVTT)|-->'`."
# In most text, a space or the end of the line follows these marks, or the script has no spaces.
_DELIMITER = regex.compile(
    rf'(?V1)"[^"]*"(*SKIP)(*FAIL)|[,;|](?=\S)(?!(?<={_NO_SPACES}.){_NO_SPACES})'
)


def _starts_with(pattern: str) -> Callable[[str], int]:
    match = regex.compile(pattern).match
    return lambda line: match(line) is not None


_FORMATS = [
    _Format(
        # {Applause}, [ ] and "Yes": are text. Python's lists of strings begin with [' or [".
        _starts_with(r"""\{\s*(?:["'{}]|$)|\[\s*(?:["'{\[]|$)|[\]}],?$|"[^"]*"\s*:\s*["{\[\d-]"""),
        0.3,
        "JSON",
        "If each line is an object, name the field with the text, such as --field text. Write the "
        "parts of a list as text first.",
        may_be_first=True,
    ),
    _Format(
        # Tags (<unk> is a word), RTF, TeX, Toolbox and USFM, CHAT, and Praat.
        _starts_with(
            r"</?(?!(?i:unk)>)[A-Za-z!?][^<>]*>|\{\\rtf|\\[A-Za-z_]|[*%]\w+:\t|File type = "
        ),
        0.02,
        "markup",
        "Extract the text first. A MediaWiki dump begins with <mediawiki>.",
        may_be_first=True,
    ),
    _Format(
        _starts_with(r"# text = |[\d.-]+\t(?:[^\t]*\t){8}[^\t]*$"),
        0.3,
        "CoNLL-U",
        "Take the sentences from it, for instance with `sed -n 's/^# text = //p'`.",
    ),
    _Format(
        _starts_with(r"\d[\d.:]*\t[^\t]*$"),
        0.3,
        "numbered lines",
        "Remove the numbers first, for instance with `cut -f 2-`.",
    ),
    _Format(
        _starts_with("__label__"),
        0.3,
        "lines with labels",
        r"Remove them first, for instance with `sed -E 's/(__label__\S+ )+//'`.",
    ),
    _Format(_starts_with(r"WEBVTT|[\d:.,]+ --> "), 0.1, "subtitles", _NUMBERS, may_be_first=True),
    _Format(_starts_with(r"\d+$|[\d:.,]+ --> "), 0.3, "numbered lines", _NUMBERS),
    _Format(
        # The time of `.*\s(?:…)$` would be quadratic in the length of a line.
        _starts_with(r".*+(?<=\s(?:O|[BIES]-\w+))$"),
        0.5,
        "tagged words",
        "Write the words of each sentence in one line, and add --already-tokenized.",
    ),
    _Format(lambda line: line.count("\t"), 0.5, "a table", _COLUMN),
    _Format(lambda line: len(_DELIMITER.findall(line)), 0.7, "a table", _COLUMN),
]
# A field of a table with line breaks.
_QUOTED = regex.compile(r'(?m)(?:^|(?<=[,;|\t]))"(?:[^"\n]|"")*+\n(?:[^"]|"")*+"(?=[,;|\t]|$)')
_MIN_LINES_OF_FORMAT = 3
_REMAINS = regex.compile(
    r"&(?:[A-Za-z]{2,8}\d{0,2}|#\d+|#x[\da-fA-F]+);|@-@|\[\[[^\[\]]+\]\]|\{\{[^{}]+\}\}"
    r"|</?(?:p|br|div|span|a|ref|[biu]|em|strong|font|su[bp]|li|code)\b[^<>]*>"
    # TeX and Markdown
    r"|\\[A-Za-z]{3,}\{|\]\(https?:"
)
_MIN_SHARE_OF_REMAINS = 0.02
_SHOWN_CHARACTERS = 60

# Line breaks without a space between words: in scripts without spaces, and after a hyphen, which
# text recognition often renders as "¬".
_JOINED_BREAK = regex.compile(
    rf"(?V1)(?<={_NO_SPACES})\n(?={_NO_SPACES})|\xad\n|(?<=\p{{L}})¬\n(?=\p{{L}})"
    rf"|(?<=\p{{L}}[-\u2010])\n(?=\p{{L}})"
)
# Tibetan separates syllables by a mark, and older Ethiopic text separates words by one.
_UNSPLIT = regex.compile(
    rf"(?V1){_NO_SPACES}{{12}}|\p{{Tibetan}}{{12}}|\p{{Ethiopic}}፡\p{{Ethiopic}}"
)
_FIRST_WORD = regex.compile(rf"(?V1){_NO_SPACES}|\S+")
SENTENCE_END = r"""[\p{Sentence_Terminal}…][\p{Pe}\p{Pf}\p{Pi}"']*"""
_END = regex.compile(rf"(?V1){SENTENCE_END}(?:(?=\s|$)|(?<={_NO_SPACES}))")
_WORD_END = regex.compile(rf"{SENTENCE_END}$")
_MIN_BREAKS = 5
# Longer paragraphs are split, to bound the memory of spaCy, and so that a text of one line, or a
# hard-wrapped one without blank lines, has several blocks.
MAX_PARAGRAPH_CHARACTERS = 1 << 14


def check_text(name: str, lines: Iterable[str]) -> None:
    """
    Warns if the first lines of an input contain markup. Raises a `ConfigurationError` if they are
    not text.
    """
    lines = list(filter(None, map(str.strip, lines)))
    rows = _QUOTED.sub('""', "\n".join(lines)).split("\n")
    for format_ in _FORMATS if lines else []:
        checked = rows if format_.kind == "a table" else lines
        values = [format_.find(line) for line in checked]
        value, count = Counter(filter(None, values)).most_common(1)[0] if any(values) else (0, 0)
        is_first = format_.may_be_first and values[0]
        if is_first or count >= max(_MIN_LINES_OF_FORMAT, format_.min_share * len(checked)):
            example = checked[values.index(value)]
            raise ConfigurationError(
                f"{name}: it looks like {format_.kind}, not like text: of its first "
                f"{len(checked):,} lines, {count:,} are like {example[:_SHOWN_CHARACTERS]!r}. "
                f"{format_.remedy} If it is text, add --lines paragraphs."
            )
    remains = list(filter(None, map(_REMAINS.search, lines)))
    if remains and len(remains) >= _MIN_SHARE_OF_REMAINS * len(lines):
        logger.warning(
            "%s: %.0f%% of its first lines contain markup or entities, such as %r in %r, which "
            "become words of the corpus. Remove or decode them first.",
            name,
            100 * len(remains) / len(lines),
            remains[0][0],
            remains[0].string[:_SHOWN_CHARACTERS],
        )


def check_words(sentences: Sequence[str]) -> None:
    """Warns if most sentences are not split: their script has no spaces, or other separators."""
    unsplit = list(filter(_UNSPLIT.search, sentences))
    if len(unsplit) > len(sentences) / 2:
        logger.warning(
            "Sentences such as %r are not split into words. Give the --language of the text, or "
            "zh, which splits them into characters. Tibetan, and Ethiopic with ፡, must be "
            "separated by spaces first: see docs/howto/corpus.md.",
            unsplit[0].strip()[:_SHOWN_CHARACTERS],
        )


def are_wrapped(lines: Iterable[str]) -> bool:
    """
    Whether line breaks are within sentences: many lines begin in lower case, in text whose
    sentences begin with capitals; or

    - the first word of the next line would mostly not have fit into the line,
    - most lines do not end like a sentence, and
    - more sentences end within lines than at the ends of lines.
    """
    lines = [line.strip() for line in lines]
    breaks = [(line, after) for line, after in pairwise(lines) if line and after]
    # The share is a third or more in real hard-wrapped text, and 2% if lines are sentences.
    continued = sum(
        after[0].islower()
        and bool(regex.search(r"[\w,]$", line) or _JOINED_BREAK.search(f"{line}\n{after}"))
        for line, after in breaks
    )
    if continued > max(1, 0.25 * len(breaks)) and _has_capitals(lines):
        return True
    if len(breaks) < _MIN_BREAKS:
        return False
    lengths = sorted(len(line) for line, _ in breaks)
    # A few lines, such as those with an address, may be longer.
    width = lengths[len(lengths) * 9 // 10]
    full = sum(len(line) + 1 + _FIRST_WORD.match(after).end() > width for line, after in breaks)
    ends = [match.end() == len(line) for line, _ in breaks for match in _END.finditer(line)]
    at_ends = sum(ends)
    # The share of full lines is 0.65 or more in hard-wrapped text, 0.45 in blank verse, and 0.1 in
    # sentences or paragraphs.
    return full > 0.55 * len(breaks) and at_ends < min(len(ends) - at_ends, len(breaks) / 2)


def _has_capitals(lines: Sequence[str]) -> bool:
    """Whether most sentences begin with a capital."""
    words = " ".join(lines).split()
    starts = [after[0] for word, after in pairwise(words) if _WORD_END.search(word)]
    return sum(map(str.isupper, starts)) > 3 * sum(map(str.islower, starts))


def join_wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Joins the lines of each paragraph. Paragraphs end at blank lines."""
    for has_text, group in groupby(map(str.strip, lines), bool):
        if not has_text:
            continue
        for paragraph in constrained_batches(group, MAX_PARAGRAPH_CHARACTERS, strict=False):
            yield _JOINED_BREAK.sub("", "\n".join(paragraph)).replace("\n", " ")
