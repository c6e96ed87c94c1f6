"""The dictionary of a fastText model, without its words in memory."""

import mmap
import os
from array import array
from bisect import bisect_right
from typing import Iterator, Optional
from zlib import crc32

import numpy

__all__ = ["FastTextDictionary"]

# After an entry's word: a zero byte, the word's count and its type.
_TAIL_BYTES = 10


class FastTextDictionary:
    """
    Which row of a fastText model belongs to which word.

    The words stay in the file. What is held is where each begins and a sorted hash of each: 16
    bytes a word, in arrays, of which forked processes share one copy, whereas a `dict` is copied
    for each, since looking at an object changes its reference count.

    # Parameters

    file : `int`
        The descriptor of the model's file, which must stay open for as long as this is used.
    buffer : `mmap.mmap`
        The same file. Not kept.
    start : `int`
        Where in it the first entry begins.
    num_entries : `int`
        How many entries it has.

    # Raises

    `EOFError`
        If the file ends before the dictionary does.
    """

    def __init__(self, file: int, buffer: mmap.mmap, start: int, num_entries: int) -> None:
        self._file = file
        starts, hashes = array("Q", [start]), array("I")
        position = start
        for _ in range(num_entries):
            end = buffer.find(b"\0", position)
            if end < 0:
                raise EOFError
            hashes.append(crc32(buffer[position:end]))
            position = end + _TAIL_BYTES
            starts.append(position)
        self._starts = starts
        by_hash = numpy.argsort(numpy.array(hashes), kind="stable")
        self._hashes = array("I", numpy.array(hashes)[by_hash].tobytes())
        self._rows = by_hash.astype("u4")

    @property
    def end(self) -> int:
        """Where in the file the dictionary ends."""
        return self._starts[-1]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[bytes]:
        """The words, in the file's order."""
        with mmap.mmap(self._file, 0, access=mmap.ACCESS_READ) as buffer:
            for start, next_start in zip(self._starts, self._starts[1:]):
                yield buffer[start : next_start - _TAIL_BYTES]

    def row(self, word: bytes) -> Optional[int]:
        """The row of `word`, the last one if it has several, or `None` if it has none."""
        hashed = crc32(word)
        index = bisect_right(self._hashes, hashed) - 1
        while index >= 0 and self._hashes[index] == hashed:
            row = int(self._rows[index])
            if self._word(row) == word:
                return row
            index -= 1
        return None

    def _word(self, row: int) -> bytes:
        start = self._starts[row]
        return os.pread(self._file, self._starts[row + 1] - start - _TAIL_BYTES, start)
