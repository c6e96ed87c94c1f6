"""Counts the words of a corpus, in several processes."""

import os
from codecs import BOM_UTF8
from collections import Counter
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Counter as CounterType
from typing import Dict, Generator, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.parallel import ordered_map
from allennlp_semfit.common.text_files import read_text

__all__ = ["CHUNK_BYTES", "WordCounts", "count_words", "find_word", "sort_by_frequency"]

CHUNK_BYTES = 2**22
_CHUNKS_PER_WORKER = 2
_LINE_BYTES = 2**20


class WordCounts(NamedTuple):
    """
    # Parameters

    counts : `Dict[str, int]`
        How often each word occurs.
    num_sentences : `int`
        The lines with a word in them.
    """

    counts: Dict[str, int]
    num_sentences: int


def count_words(
    files: Sequence[Path], *, num_workers: int = 1, chunk_bytes: int = CHUNK_BYTES
) -> WordCounts:
    """
    Counts what the `language_modeling` reader reads by default: the lines, which `\\n` alone ends,
    are split as `str.split()` does, and a byte order mark at the start of a file is no word.

    The files are read once, in chunks that end where a line ends. A worker holds one chunk and its
    counts: three times the bytes of the chunk in English text, 32 times where each word is another.
    This process holds the counts of all words, about 120 bytes for each distinct word of ten
    letters, and those of two chunks for each worker.

    # Parameters

    files : `Sequence[Path]`
    num_workers : `int`, optional (default = `1`)
        The most processes that count. With 1, this one does. The counts do not depend on it.
    chunk_bytes : `int`, optional (default = `CHUNK_BYTES`)
        The least that a chunk takes, but for the last of a file: it goes on to the end of the line.

    # Returns

    `WordCounts`
        Without boundary tokens.

    # Raises

    `ConfigurationError`
        If a file cannot be read, is not UTF-8 or changes meanwhile, if there is no word, or if a
        worker dies.
    """
    sizes = [_size(path) for path in files]
    num_chunks = sum(-(-size // chunk_bytes) for size in sizes)
    results = _count_chunks(_chunks(files, chunk_bytes), max(1, min(num_workers, num_chunks)))
    counts: CounterType[str] = Counter()
    num_sentences = 0
    progress = Tqdm.tqdm(total=sum(sizes), unit="B", unit_scale=True, desc="counting words")
    # The workers run until the generator is closed.
    with progress, closing(results):
        for result in results:
            counts.update(result.counts)
            num_sentences += result.num_sentences
            progress.update(result.num_bytes)
    if not counts:
        raise ConfigurationError(
            f"{files[0]}{' and the files beside it' if files[1:] else ''}: there is no word in it; "
            "give text with one sentence a line, which `allennlp prepare-corpus` makes"
        )
    return WordCounts(counts, num_sentences)


def sort_by_frequency(counts: Dict[str, int], *, min_count: int = 1) -> List[str]:
    """
    # Parameters

    counts : `Dict[str, int]`
    min_count : `int`, optional (default = `1`)
        Rarer words are left out.

    # Returns

    `List[str]`
        In falling order of frequency, and in order of their code points where that is the same.
    """
    words = sorted(word for word, count in counts.items() if count >= min_count)
    # Sorting keeps the order of equals, in reverse too.
    words.sort(key=counts.__getitem__, reverse=True)
    return words


def find_word(files: Iterable[Path], word: str) -> Tuple[Path, int]:
    """
    # Parameters

    files : `Iterable[Path]`
    word : `str`
        One that `count_words` has counted.

    # Returns

    `Tuple[Path, int]`
        The first file that it is in, and its first line there, counted from 1.
    """
    for path in files:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if word in line.decode("utf-8-sig" if number == 1 else "utf-8").split():
                    return path, number
    raise ValueError(f"{word!r} is in none of the files")


class _Chunk(NamedTuple):
    path: Path
    start: int
    stop: int


class _ChunkCounts(NamedTuple):
    counts: Dict[str, int]
    num_sentences: int
    num_bytes: int


def _size(path: Path) -> int:
    """Opens the file too, lest the last of many turns out to be out of reach when all are read."""
    if path.exists() and not path.is_file():
        raise ConfigurationError(
            f"{path}: it is no file that can be read in chunks; write what comes from it to one"
        )
    try:
        with path.open("rb") as file:
            return file.seek(0, os.SEEK_END)
    except OSError:
        raise _explain(path) from None


def _explain(path: Path) -> ConfigurationError:
    """What keeps a file from being read as text, as `read_text` says it."""
    try:
        for _ in read_text(path):
            pass
    except ConfigurationError as error:
        return error
    return ConfigurationError(
        f"{path}: it changed while it was read; leave it alone, and give the same command again"
    )


def _chunks(files: Iterable[Path], chunk_bytes: int) -> Iterator[_Chunk]:
    for path in files:
        size = _size(path)
        start = 0
        while start < size:
            stop = min(_end_of_line(path, start + chunk_bytes - 1), size)
            yield _Chunk(path, start, stop)
            start = stop


def _end_of_line(path: Path, offset: int) -> int:
    """Where the line ends that the byte at `offset` belongs to."""
    with path.open("rb") as file:
        file.seek(offset)
        while True:
            # A line may be longer than what memory should hold.
            part = file.readline(_LINE_BYTES)
            if not part or part.endswith(b"\n"):
                # Past the end of the file it stays at the offset.
                return file.tell()


def _count_chunks(
    chunks: Iterable[_Chunk], num_workers: int
) -> Generator[_ChunkCounts, None, None]:
    if num_workers == 1:
        yield from map(_count_chunk, chunks)
        return
    results = ordered_map(
        _count_chunk, chunks, num_workers=num_workers, items_per_worker=_CHUNKS_PER_WORKER
    )
    with closing(results):
        yield from results


def _count_chunk(chunk: _Chunk) -> _ChunkCounts:
    try:
        lines = _read(chunk).decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise _explain(chunk.path) from None
    return _ChunkCounts(
        counts=dict(Counter(chain.from_iterable(map(str.split, lines)))),
        num_sentences=sum(1 for line in lines if line and not line.isspace()),
        num_bytes=chunk.stop - chunk.start,
    )


def _read(chunk: _Chunk) -> bytes:
    with chunk.path.open("rb") as file:
        file.seek(chunk.start)
        text = file.read(chunk.stop - chunk.start)
    if len(text) < chunk.stop - chunk.start:
        raise OSError("the file has become shorter")
    is_marked = chunk.start == 0 and text.startswith(BOM_UTF8)
    return text[len(BOM_UTF8) :] if is_marked else text
