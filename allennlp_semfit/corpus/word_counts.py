"""Reads a corpus in parallel, in chunks of whole lines, and counts its words."""

import os
from codecs import BOM_UTF8
from collections import Counter
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import (
    Callable,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Sequence,
    Tuple,
    TypeVar,
)
from typing import Counter as CounterType

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.parallel import ordered_map
from allennlp_semfit.common.text_files import read_lines, read_text

__all__ = [
    "WordCounts",
    "count_words",
    "find_word",
    "map_chunks",
    "sort_by_frequency",
]

# The minimum size of a chunk, which is extended to the end of the line.
_CHUNK_BYTES = 2**22
_CHUNKS_PER_WORKER = 2
_LINE_BYTES = 2**20

Result = TypeVar("Result")


class WordCounts(NamedTuple):
    """How often each word occurs, and the number of lines with at least one word."""

    counts: Dict[str, int]
    num_sentences: int


def count_words(files: Sequence[Path], *, num_workers: int = 1) -> WordCounts:
    """
    Counts the words as the `language_modeling` reader reads them by default: lines end at `\\n`
    only, words are separated as by `str.split()`, and a byte order mark at the start of a file is
    skipped.

    The files are read once, in chunks of whole lines. A worker keeps one chunk and its counts in
    memory: three times the size of the chunk for English text, 32 times if all words are distinct.
    This process keeps all counts, about 120 bytes for each distinct word of ten letters, and the
    counts of two chunks for each worker.

    # Parameters

    files : `Sequence[Path]`
    num_workers : `int`, optional (default = `1`)
        The maximum number of worker processes. With 1, none are started.

    # Raises

    `ConfigurationError`
        If a file cannot be read, is not UTF-8 or changes while it is read, if there are no words,
        or if a worker dies.
    """
    results = map_chunks(
        _count_lines,
        files,
        num_workers=num_workers,
        description="counting words",
    )
    counts: CounterType[str] = Counter()
    num_sentences = 0
    # The workers run until the generator is closed.
    with closing(results):
        for result in results:
            counts.update(result.counts)
            num_sentences += result.num_sentences
    if not counts:
        raise ConfigurationError(
            f"{files[0]}{' and the other files' if files[1:] else ''}: no words found; give "
            "text with one sentence per line, as written by `allennlp prepare-corpus`"
        )
    return WordCounts(counts, num_sentences)


def map_chunks(
    function: Callable[[List[str]], Result],
    files: Sequence[Path],
    *,
    num_workers: int = 1,
    description: str,
) -> Generator[Result, None, None]:
    """
    Yields what `function` returns for the lines of each chunk, in the order of the chunks, and
    shows progress. The workers run until the generator is closed.

    # Parameters

    function : `Callable[[List[str]], Result]`
        Pickled for each chunk. Its lines are decoded and have no line feeds.
    files : `Sequence[Path]`
        Read once, in chunks of whole lines.
    num_workers : `int`, optional (default = `1`)
        The maximum number of worker processes. With 1, none are started.
    description : `str`
        Of the progress bar.

    # Raises

    `ConfigurationError`
        If a file cannot be read, is not UTF-8 or changes while it is read, or if a worker dies.
    """
    sizes = [_file_size(path) for path in files]
    num_chunks = sum(-(-size // _CHUNK_BYTES) for size in sizes)
    results = ordered_map(
        partial(_apply_to_chunk, function),
        _chunks(files),
        num_workers=min(num_workers, num_chunks),
        items_per_worker=_CHUNKS_PER_WORKER,
    )
    progress = Tqdm.tqdm(total=sum(sizes), unit="B", unit_scale=True, desc=description)
    with progress, closing(results):
        for result, num_bytes in results:
            yield result
            progress.update(num_bytes)


def sort_by_frequency(counts: Dict[str, int], *, min_count: int = 1) -> List[str]:
    """The words that are frequent enough, by decreasing frequency and then by code points."""
    words = sorted(word for word, count in counts.items() if count >= min_count)
    # Sorting is stable, also in reverse.
    words.sort(key=counts.__getitem__, reverse=True)
    return words


def find_word(files: Iterable[Path], word: str) -> Tuple[Path, int]:
    """The first file that contains the word, and the number of its first line there, from 1."""
    for path in files:
        for number, line in enumerate(read_lines(path), start=1):
            if word in line.decode("utf-8").split():
                return path, number
    raise ValueError(f"{word!r} is not in the files")


class _Chunk(NamedTuple):
    path: Path
    start: int
    stop: int


def _file_size(path: Path) -> int:
    """Also opens the file, so that an unreadable one is reported before all others are read."""
    try:
        with path.open("rb") as file:
            return file.seek(0, os.SEEK_END)
    except OSError:
        raise _read_error(path) from None


def _read_error(path: Path) -> ConfigurationError:
    """The error of `read_text` for a file that could not be read."""
    try:
        for _ in read_text(path):
            pass
    except ConfigurationError as error:
        return error
    return ConfigurationError(f"{path}: it changed while it was read; run the same command again")


def _chunks(files: Iterable[Path]) -> Iterator[_Chunk]:
    for path in files:
        size = _file_size(path)
        start = 0
        while start < size:
            stop = min(_end_of_line(path, start + _CHUNK_BYTES - 1), size)
            yield _Chunk(path, start, stop)
            start = stop


def _end_of_line(path: Path, offset: int) -> int:
    """The end of the line that contains the byte at `offset`."""
    with path.open("rb") as file:
        file.seek(offset)
        while True:
            # A line may be too long for memory.
            part = file.readline(_LINE_BYTES)
            if not part or part.endswith(b"\n"):
                # If the offset is past the end of the file, this is the offset.
                return file.tell()


def _apply_to_chunk(function: Callable[[List[str]], Result], chunk: _Chunk) -> Tuple[Result, int]:
    """Returns the result, and the chunk's size in bytes."""
    try:
        lines = _read(chunk).decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise _read_error(chunk.path) from None
    return function(lines), chunk.stop - chunk.start


def _count_lines(lines: List[str]) -> WordCounts:
    return WordCounts(
        counts=dict(Counter(chain.from_iterable(map(str.split, lines)))),
        num_sentences=sum(1 for line in lines if line and not line.isspace()),
    )


def _read(chunk: _Chunk) -> bytes:
    with chunk.path.open("rb") as file:
        file.seek(chunk.start)
        text = file.read(chunk.stop - chunk.start)
    if len(text) < chunk.stop - chunk.start:
        raise OSError("the file was truncated")
    has_bom = chunk.start == 0 and text.startswith(BOM_UTF8)
    return text[len(BOM_UTF8) :] if has_bom else text
