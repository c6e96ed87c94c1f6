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

from allennlp_semfit.common.text_files import read_text
from allennlp_semfit.common.worker_pool import map_in_order

__all__ = ["PIECE_BYTES", "WordCounts", "count_words", "find_word", "most_frequent"]

PIECE_BYTES = 2**22
_PIECES_PER_WORKER = 2
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
    files: Sequence[Path], *, num_workers: int = 1, piece_bytes: int = PIECE_BYTES
) -> WordCounts:
    """
    Counts what the `language_modeling` reader reads by default: the lines, which `\\n` alone ends,
    are split as `str.split()` does, and a byte order mark at the start of a file is no word.

    The files are read once, in pieces that end where a line ends. A worker holds one piece and its
    counts: three times the bytes of the piece in English text, 32 times where each word is another.
    This process holds the counts of all words, about 120 bytes for each distinct word of ten
    letters, and those of two pieces for each worker.

    # Parameters

    files : `Sequence[Path]`
    num_workers : `int`, optional (default = `1`)
        The most processes that count. With 1, this one does. The counts do not depend on it.
    piece_bytes : `int`, optional (default = `PIECE_BYTES`)
        The least that a piece takes, but for the last of a file: it goes on to the end of the line.

    # Returns

    `WordCounts`
        Without boundary tokens.

    # Raises

    `ConfigurationError`
        If a file cannot be read, is not UTF-8 or changes meanwhile, if there is no word, or if a
        worker dies.
    """
    sizes = [_size(path) for path in files]
    num_pieces = sum(-(-size // piece_bytes) for size in sizes)
    results = _count_pieces(_pieces(files, piece_bytes), max(1, min(num_workers, num_pieces)))
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


def most_frequent(counts: Dict[str, int], *, min_count: int = 1) -> List[str]:
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


class _Piece(NamedTuple):
    path: Path
    start: int
    stop: int


class _PieceCounts(NamedTuple):
    counts: Dict[str, int]
    num_sentences: int
    num_bytes: int


def _size(path: Path) -> int:
    """Opens the file too, lest the last of many turns out to be out of reach when all are read."""
    if path.exists() and not path.is_file():
        raise ConfigurationError(
            f"{path}: it is no file that can be read in pieces; write what comes from it to one"
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


def _pieces(files: Iterable[Path], piece_bytes: int) -> Iterator[_Piece]:
    for path in files:
        size = _size(path)
        start = 0
        while start < size:
            stop = min(_end_of_line(path, start + piece_bytes - 1), size)
            yield _Piece(path, start, stop)
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


def _count_pieces(
    pieces: Iterable[_Piece], num_workers: int
) -> Generator[_PieceCounts, None, None]:
    if num_workers == 1:
        yield from map(_count_piece, pieces)
        return
    results = map_in_order(
        _count_piece, pieces, num_workers=num_workers, items_per_worker=_PIECES_PER_WORKER
    )
    with closing(results):
        yield from results


def _count_piece(piece: _Piece) -> _PieceCounts:
    try:
        lines = _read(piece).decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise _explain(piece.path) from None
    return _PieceCounts(
        counts=dict(Counter(chain.from_iterable(map(str.split, lines)))),
        num_sentences=sum(1 for line in lines if line and not line.isspace()),
        num_bytes=piece.stop - piece.start,
    )


def _read(piece: _Piece) -> bytes:
    with piece.path.open("rb") as file:
        file.seek(piece.start)
        text = file.read(piece.stop - piece.start)
    if len(text) < piece.stop - piece.start:
        raise OSError("the file has become shorter")
    is_marked = piece.start == 0 and text.startswith(BOM_UTF8)
    return text[len(BOM_UTF8) :] if is_marked else text
