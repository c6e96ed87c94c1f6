"""The dictionary of a fastText model, which leaves its words on disk."""

import os
from array import array
from bisect import bisect_right
from typing import Iterator, Optional
from zlib import crc32

import numpy

__all__ = ["FastTextDictionary"]

# After each word: a zero byte, its count and its type.
_BYTES_AFTER_WORD = 10

# No word is longer.
_CHUNK_BYTES = 2**20
_WORDS_PER_READ = 4096


class FastTextDictionary:
    """
    Maps words to the rows of a fastText model.

    The words stay in the file. Only their positions and sorted hashes are kept in memory, 16 bytes
    per word. They are arrays, which forked processes share. A `dict` would be copied in each
    process, because accessing an object changes its reference count.

    The descriptor `file` must stay open while the dictionary is used. The first entry is at the
    offset `start`. If the file ends before the dictionary does, the constructor and all methods
    raise `EOFError`.
    """

    def __init__(self, file: int, start: int, num_entries: int) -> None:
        self._file = file
        starts, hashes = array("Q", [start]), array("I")
        # Not a memory map: reading one kills the process if the file is truncated meanwhile.
        chunk, position = b"", 0
        for _ in range(num_entries):
            end = chunk.find(b"\0", position)
            if end < 0 or end + _BYTES_AFTER_WORD > len(chunk):
                chunk, position = os.pread(file, 2 * _CHUNK_BYTES, starts[-1]), 0
                end = chunk.find(b"\0", 0, _CHUNK_BYTES)
                if end < 0 or end + _BYTES_AFTER_WORD > len(chunk):
                    raise EOFError
            hashes.append(crc32(chunk[position:end]))
            starts.append(starts[-1] + end + _BYTES_AFTER_WORD - position)
            position = end + _BYTES_AFTER_WORD
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
        for first in range(0, len(self), _WORDS_PER_READ):
            starts = self._starts[first : first + _WORDS_PER_READ + 1]
            block = self._read(starts[0], starts[-1])
            for start, end in zip(starts, starts[1:]):
                yield block[start - starts[0] : end - starts[0] - _BYTES_AFTER_WORD]

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
        return self._read(self._starts[row], self._starts[row + 1] - _BYTES_AFTER_WORD)

    def _read(self, start: int, end: int) -> bytes:
        data = os.pread(self._file, end - start, start)
        if len(data) < end - start:
            raise EOFError
        return data
