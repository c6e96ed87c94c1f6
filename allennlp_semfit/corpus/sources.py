"""
Detects the format of input files and streams documents from them.
"""

import bz2
import codecs
import gzip
import lzma
import os
import re
import zlib
from contextlib import contextmanager
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import (
    IO,
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)
from xml.etree.ElementTree import ParseError

import regex
from allennlp.common.checks import ConfigurationError
from more_itertools import constrained_batches

from allennlp_semfit.common.text_files import find_text_files, read_lines, read_text
from allennlp_semfit.corpus.sentences import SENTENCE_END, split_text
from allennlp_semfit.corpus.wikipedia import read_articles

_DECOMPRESSORS: Dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "a zstandard file",
}
# A tar archive has its magic number here.
_TAR_MAGIC = slice(257, 262)
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DUMP_START = re.compile(
    # Not `.*?` in a comment: it also matches several comments, in exponentially many ways.
    r"\ufeff?\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->).)*-->\s*)*<mediawiki[\s>]",
    re.DOTALL,
)

# Scripts without spaces: Chinese and Japanese, by the segment break transformation rules of CSS
# Text, and Thai, Khmer, Lao and Burmese.
_NO_SPACES = r"[[\p{EA=W}\p{EA=F}\p{EA=H}\p{LB=SA}]--\p{Hangul}]"
# Where a line ends, words are joined without a space: in such scripts, and after a hyphen.
_JOINED_BREAK = regex.compile(
    rf"(?V1)(?<={_NO_SPACES})\n(?={_NO_SPACES})|\xad\n|(?<=\p{{L}}[-\u2010])\n(?=\p{{L}})"
)
_FIRST_WORD = regex.compile(rf"(?V1){_NO_SPACES}|\S+")
_END = regex.compile(rf"(?V1){SENTENCE_END}(?:(?=\s|$)|(?<={_NO_SPACES}))")
_WORD_END = regex.compile(rf"{SENTENCE_END}$")
_MIN_BREAKS = 5

_HEAD_BYTES = 1 << 16
_MAX_LINE_CHARACTERS = 1 << 20
_MAX_BLOCK_LINES = 64
_MAX_BLOCK_CHARACTERS = 1 << 18
# Of hard-wrapped text without blank lines.
_MAX_PARAGRAPH_CHARACTERS = 1 << 14


class Document(NamedTuple):
    """
    The wiki markup of an article, or a block of lines of a text file. It is either held out or
    trained on as a whole.

    `hidden_namespaces` is `None` for text. For an article, it has the prefixes of links that are
    not displayed as text, such as `file` and `category`: in lower case, in the dump's language.
    """

    text: str
    hidden_namespaces: Optional[FrozenSet[str]] = None


class Source(NamedTuple):
    """
    An input file, with its size on disk and its modification time in nanoseconds. `is_dump` is
    whether it is a MediaWiki dump or text, `is_wrapped` whether the lines of the text look
    hard-wrapped, `decompress` opens the content of the file's stream.
    """

    path: Path
    size: int
    modified: int
    is_dump: bool
    is_wrapped: bool
    decompress: Callable[[IO[bytes]], IO[bytes]]


def find_sources(
    inputs: Sequence[Union[str, "os.PathLike[str]"]], outputs: Sequence[Path] = ()
) -> List[Source]:
    """
    Finds files with the arguments of `find_text_files`, and detects their formats: from the
    start of a file, not from its name.

    # Raises

    `ConfigurationError`
        If an input is missing, empty or an output, or is neither UTF-8 text nor a MediaWiki dump.
    """
    return [_inspect(path) for path in find_text_files(inputs, outputs=outputs)]


def read_documents(
    sources: Iterable[Source], on_bytes: Callable[[int], Any], lines: str = "auto"
) -> Iterator[Document]:
    """
    Yields the documents in the order of the input, with one at a time in memory. Calls `on_bytes`
    with the number of bytes on disk that were read since the last call. `lines` is that of
    `CorpusOptions`.

    # Raises

    `ConfigurationError`
        If a file is truncated, damaged or not UTF-8.
    """
    for source in sources:
        previous_position = 0
        with open(source.path, "rb") as raw, _explain_read_errors(source.path):
            stream = source.decompress(raw)
            documents = (
                (Document(*article) for article in read_articles(stream))
                if source.is_dump
                else _read_blocks(
                    read_lines(source.path, stream, whole_lines=False),
                    is_wrapped=lines == "wrapped" or (lines == "auto" and source.is_wrapped),
                )
            )
            for document in documents:
                position = raw.tell()
                on_bytes(position - previous_position)
                previous_position = position
                yield document
        on_bytes(source.size - previous_position)


def _inspect(path: Path) -> Source:
    with open(path, "rb") as raw, _explain_read_errors(path):
        magic = raw.read(6)
        decompress: Callable[[IO[bytes]], IO[bytes]] = next(
            (opener for start, opener in _DECOMPRESSORS.items() if magic.startswith(start)),
            lambda stream: stream,
        )
        raw.seek(0)
        head = decompress(raw).read(_HEAD_BYTES)
    archives = [kind for start, kind in _ARCHIVES.items() if magic.startswith(start)]
    if head[_TAR_MAGIC] == b"ustar":
        archives.append("a tar archive")
    if archives:
        raise ConfigurationError(
            f"The input {path} is {archives[0]}. Unpack it first: the input must be text or a "
            "MediaWiki dump, optionally compressed with gzip, bzip2 or xz."
        )
    stat = path.stat()
    if not head:
        raise ConfigurationError(f"The input {path} is empty. Give a file with text.")
    encoding = "utf-16" if head.startswith(_UTF16_MARKS) else "utf-8"
    is_dump = bool(_DUMP_START.match(head.decode(encoding, errors="replace")))
    if not is_dump:
        # Most text in UTF-16 has a zero in every other byte. UTF-8 allows zeros, but text has none.
        if encoding == "utf-16" or head.count(0) * 4 > len(head):
            raise ConfigurationError(
                f"The input {path} looks like UTF-16 or is not text; it must be UTF-8. "
                "Convert it first, for instance with `iconv -f UTF-16 -t UTF-8`."
            )
        with open(path, "rb") as raw, _explain_read_errors(path):
            next(read_text(path, decompress(raw)), None)
    # The last line may be cut.
    text = head.decode("utf-8", errors="ignore")
    lines = text.split("\n")[: -1 if len(head) == _HEAD_BYTES else None]
    is_wrapped = not is_dump and _is_wrapped(lines)
    return Source(path, stat.st_size, stat.st_mtime_ns, is_dump, is_wrapped, decompress)


def _is_wrapped(lines: Sequence[str]) -> bool:
    """
    Whether line breaks are within sentences: many lines are continued in lower case, in text whose
    sentences begin with capitals; or, as in scripts without them,

    - the first word of the next line would mostly not have fit into the line,
    - most lines do not end like a sentence, and
    - more sentences end within lines than at the ends of lines.
    """
    lines = [line.strip() for line in lines]
    breaks = [(line, after) for line, after in pairwise(lines) if line and after]
    # It is a third or more of real hard-wrapped text, and 2 % of sentences.
    continued = sum(
        after[0].islower() and (line[-1].isalnum() or line[-1] == ",") for line, after in breaks
    )
    if continued > max(1, 0.25 * len(breaks)) and _has_capitals(lines):
        return True
    if len(breaks) < _MIN_BREAKS:
        return False
    lengths = sorted(len(line) for line, _ in breaks)
    # A few lines may be longer, such as those with an address.
    width = lengths[len(lengths) * 9 // 10]
    full = sum(len(line) + 1 + _FIRST_WORD.match(after).end() > width for line, after in breaks)
    ends = [match.end() == len(line) for line, _ in breaks for match in _END.finditer(line)]
    at_ends = sum(ends)
    # It is about 0.65 for real hard-wrapped text and more for that of a program, 0.45 for blank
    # verse, and 0.1 for sentences or paragraphs.
    return full > 0.55 * len(breaks) and at_ends < min(len(ends) - at_ends, len(breaks) / 2)


def _has_capitals(lines: Sequence[str]) -> bool:
    """Whether most sentences begin with a capital."""
    words = " ".join(lines).split()
    starts = [after[0] for word, after in pairwise(words) if _WORD_END.search(word)]
    return sum(map(str.isupper, starts)) > 3 * sum(map(str.islower, starts))


@contextmanager
def _explain_read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ConfigurationError(
            f"The input {path} cannot be read to its end: {error}. If it is compressed, it is "
            "truncated or damaged: download it again."
        ) from error
    except ParseError as error:
        raise ConfigurationError(
            f"The input {path} starts as a MediaWiki dump, but is not valid XML: {error}. It is "
            "truncated or damaged: download it again."
        ) from error


def _join_wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Yields the paragraphs, which end at blank lines."""
    for _, group in groupby(map(str.strip, lines), bool):
        for paragraph in constrained_batches(group, _MAX_PARAGRAPH_CHARACTERS, strict=False):
            yield _JOINED_BREAK.sub("", "\n".join(paragraph)).replace("\n", " ")


def _read_blocks(lines: Iterable[str], *, is_wrapped: bool) -> Iterator[Document]:
    block: List[str] = []
    characters = 0
    if is_wrapped:
        lines = _join_wrapped(lines)
    # Longer lines are split, to bound the memory of spaCy.
    parts = chain.from_iterable(split_text(line, _MAX_LINE_CHARACTERS) for line in lines)
    for num_lines, line in enumerate(filter(str.strip, parts), start=1):
        block.append(line)
        characters += len(line)
        # The first blocks are small, so that a small file has more than one.
        if (
            len(block) >= min(_MAX_BLOCK_LINES, 1 + num_lines // _MAX_BLOCK_LINES)
            or characters > _MAX_BLOCK_CHARACTERS
        ):
            yield Document("\n".join(block))
            block, characters = [], 0
    if block:
        yield Document("\n".join(block))
