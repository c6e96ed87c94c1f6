"""The dictionary of a fastText model, which leaves its words on disk."""

import mmap
import os
from array import array
from bisect import bisect_right
from typing import Iterator, Optional
from zlib import crc32

import numpy

__all__ = ["FastTextDictionary"]

# After each word: a zero byte, its count and its type.
_BYTES_AFTER_WORD = 10


class FastTextDictionary:
    """
    Maps words to the rows of a fastText model.

    The words stay in the file. Only their positions and sorted hashes are kept in memory, 16 bytes
    per word. They are arrays, which forked processes share. A `dict` would be copied in each
    process, because accessing an object changes its reference count.

    The descriptor `file` must stay open while the dictionary is used; `buffer` is the same file,
    for the constructor only. The first entry is at the offset `start`. If the file ends before the
    dictionary does, the constructor raises `EOFError`.
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
            position = end + _BYTES_AFTER_WORD
            starts.append(position)
        self._starts = starts
        by_hash = numpy.argsort(numpy.array(hashes), kind="stable")
        self._hashes = array("I", numpy.array(hashes)[by_hash].tobytes())
        self._rows = by_hash.astype("u4")

    @property
    def end(self) -> int:
        """The offset of the dictionary's end."""
        return self._starts[-1]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[bytes]:
        """The words, in the order of the file."""
        with mmap.mmap(self._file, 0, access=mmap.ACCESS_READ) as buffer:
            for start, next_start in zip(self._starts, self._starts[1:]):
                yield buffer[start : next_start - _BYTES_AFTER_WORD]

    def row(self, word: bytes) -> Optional[int]:
        """The row of `word`, the last one if there are several, or `None`."""
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
        return os.pread(self._file, self._starts[row + 1] - start - _BYTES_AFTER_WORD, start)
