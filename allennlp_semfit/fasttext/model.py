"""Word vectors of a fastText model, read from the file on demand."""

import os
import struct
from array import array
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union
from weakref import WeakValueDictionary, finalize
from zlib import crc32

import numpy

from allennlp_semfit.common.errors import InvalidFileError, absolute_path, resolve_path

__all__ = ["FastTextDictionary", "FastTextModel", "ngram_hashes"]

_KIND = "fastText model"
_MAGIC = 793712314
_VERSIONS = (11, 12)
_SUPERVISED = 3
_END_OF_SENTENCE = b"</s>"
_UNKNOWN = "<unk>"

# magic, version, then dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t, then the dictionary's size, nwords, nlabels, ntokens, pruneidx_size.
_HEADER = struct.Struct("<2i12id3i2q")
_MATRIX_SHAPE = struct.Struct("<2q")

# Bounds the memory for averaging, even for a very long word.
_MAX_ROWS_PER_READ = 4096

# macOS does not have it.
_HAS_FADVISE = hasattr(os, "posix_fadvise")


class FastTextModel:
    """
    The input vectors of an unsupervised fastText model (Bojanowski et al. 2017, "Enriching Word
    Vectors with Subword Information"), read from the `.bin` file on demand.

    A word's vector is the mean of its own row, if it is in the dictionary, and the rows of its
    character n-grams, as `fasttext.load_model(path).get_word_vector(word)` returns it. An unknown
    word that is shorter than the shortest n-gram has no rows. It gets the vector of `<unk>`, where
    `fasttext` returns zeros.

    Opening a model reads its dictionary: for two million words, this takes one to two seconds and
    32 MB, which forked processes share. The rows of the matrix are read when a word is looked up,
    and kept in the operating system's page cache for all processes. The object is pickled as its
    path, and `copy.deepcopy` returns the object itself.

    Use [`open`](#open), which returns the same object for the same file.

    # Parameters

    path : `Union[str, os.PathLike]`
        A model saved by `fasttext` or `allennlp train-fasttext`: a path, or a URL that AllenNLP's
        `cached_path` can download.
    cache_size : `int`, optional (default = `65536`)
        The number of most recently used vectors to cache in each process, about 1.7 kB each at 300
        dimensions. A vector that is still referenced elsewhere is shared even after its eviction.

    # Raises

    `InvalidFileError`
        If the file is missing, empty, truncated, quantised, supervised or not a fastText model.
    """

    _opened: "WeakValueDictionary[Tuple[str, int, int], FastTextModel]" = WeakValueDictionary()

    def __init__(self, path: Union[str, os.PathLike], cache_size: int = 2**16) -> None:
        self.path = str(path)
        self._file = os.open(_resolve(self.path), os.O_RDONLY)
        finalize(self, os.close, self._file)
        size = os.fstat(self._file).st_size
        if size < _HEADER.size:
            raise self._error("is truncated" if size else "is empty")
        self._read_header()
        try:
            self._dictionary = FastTextDictionary(self._file, _HEADER.size, self._num_entries)
        except EOFError:
            raise self._truncated_error() from None
        self._matrix_start = self._find_matrix(self._dictionary.end, size)
        if _HAS_FADVISE:
            # Without this, read-ahead would eventually load the whole file.
            os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_RANDOM)
        self._live_vectors: WeakValueDictionary[str, numpy.ndarray] = WeakValueDictionary()
        self._cached_vector = lru_cache(maxsize=cache_size)(self._load_vector)

    @classmethod
    def open(cls, path: Union[str, os.PathLike]) -> "FastTextModel":
        """
        The model at `path`. While it is referenced in this process, the same object is returned.

        # Raises

        `InvalidFileError`
            As for the constructor.
        """
        resolved = _resolve(str(path))
        stat = os.stat(resolved)
        key = (os.path.realpath(resolved), stat.st_size, stat.st_mtime_ns)
        model = cls._opened.get(key)
        if model is None:
            model = cls(path)
            cls._opened[key] = model
        return model

    def __reduce__(self) -> Tuple[Any, ...]:
        return FastTextModel.open, (absolute_path(self.path),)

    def __deepcopy__(self, memo: Dict[int, Any]) -> "FastTextModel":
        return self

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self._dim

    @property
    def words(self) -> List[str]:
        """The words of the dictionary, sorted by decreasing frequency."""
        try:
            # Labels come after the words.
            words = dict.fromkeys(islice(self._dictionary, self._num_words))
        except EOFError:
            raise self._truncated_error() from None
        return [word.decode("utf-8", errors="replace") for word in words]

    def __contains__(self, word: str) -> bool:
        return self._row_of(_encode(word)) is not None

    def get_word_vector(self, word: str) -> numpy.ndarray:
        """
        The vector of any word. It is read-only, because all callers share it.

        # Returns

        `numpy.ndarray`
            Shape `(dim,)`, `float32`.

        # Raises

        `InvalidFileError`
            If the vector is not finite, that is, the model is damaged.
        """
        return self._cached_vector(word)

    def _load_vector(self, word: str) -> numpy.ndarray:
        vector = self._live_vectors.get(word)
        if vector is None:
            rows = self._row_indices(_encode(word))
            vector = self._mean_row(rows) if rows else self._unknown_vector
            if not numpy.isfinite(vector).all():
                raise self._error(
                    f"has a vector for the word {word[:50]!r} that is not finite",
                    "fastText can leave such rows when it trains with fewer than 10 threads. Train "
                    "the model again with `allennlp train-fasttext`, which prevents this.",
                )
            vector.setflags(write=False)
            self._live_vectors[word] = vector
        return vector

    def _row_indices(self, word: bytes) -> List[int]:
        row = self._row_of(word)
        # Labels have no row of their own.
        rows = [] if row is None or row >= self._num_words + self._bucket else [row]
        if word != _END_OF_SENTENCE and self._bucket > 0:
            hashes = ngram_hashes(word, self._minn, self._maxn)
            rows.extend([self._num_words + hashed % self._bucket for hashed in hashes])
        return rows

    def _row_of(self, word: bytes) -> Optional[int]:
        try:
            return self._dictionary.row(word)
        except EOFError:
            raise self._truncated_error() from None

    def _mean_row(self, rows: List[int]) -> numpy.ndarray:
        # Sum in float32 and in the order of the rows, as fastText does.
        total = self._read_rows(rows[:_MAX_ROWS_PER_READ]).sum(axis=0)
        for start in range(_MAX_ROWS_PER_READ, len(rows), _MAX_ROWS_PER_READ):
            block = self._read_rows(rows[start : start + _MAX_ROWS_PER_READ])
            block[0] += total
            total = block.sum(axis=0)
        return total * numpy.float32(1.0 / len(rows))

    def _read_rows(self, rows: Sequence[int]) -> numpy.ndarray:
        """Rows of the input matrix. Shape `(len(rows), dim)`."""
        # Not from a memory map: its pages, and those around each row, count as the process's.
        file, size = self._file, 4 * self._dim
        starts = [self._matrix_start + row * size for row in rows]
        if _HAS_FADVISE:
            # Read the rows that are not in memory in parallel, not one after the other.
            for start in starts:
                os.posix_fadvise(file, start, size, os.POSIX_FADV_WILLNEED)
        data = bytearray().join([os.pread(file, size, start) for start in starts])
        if len(data) < len(rows) * size:
            raise self._truncated_error()
        return numpy.frombuffer(data, "<f4").reshape(len(rows), self._dim)

    @cached_property
    def _unknown_vector(self) -> numpy.ndarray:
        rows = self._row_indices(_encode(_UNKNOWN))
        if rows:
            return self._mean_row(rows)
        # Without n-grams and `<unk>`, use the mean of all words.
        total = numpy.zeros(self._dim)
        for start in range(0, self._num_words, _MAX_ROWS_PER_READ):
            block = range(start, min(start + _MAX_ROWS_PER_READ, self._num_words))
            total += self._read_rows(block).sum(axis=0, dtype=numpy.float64)
        return (total / self._num_words).astype(numpy.float32)

    def _read(self, size: int, start: int) -> bytes:
        data = os.pread(self._file, size, start)
        if len(data) < size:
            raise self._truncated_error()
        return data

    def _read_header(self) -> None:
        header = _HEADER.unpack(self._read(_HEADER.size, 0))
        magic, version, dim = header[:3]
        kind, bucket, minn, maxn = header[9:13]
        num_entries, num_words = header[15:17]
        num_pruned = header[19]
        if magic != _MAGIC or version not in _VERSIONS:
            raise self._error(
                "is not a fastText model",
                "Use the `.bin` file that `fasttext` saves; a text file (`.vec`) has no n-grams.",
            )
        if num_pruned >= 0:
            raise self._quantised_error()
        self._is_supervised = kind == _SUPERVISED
        self._dim, self._bucket, self._minn, self._maxn = dim, bucket, minn, maxn
        self._num_entries, self._num_words = num_entries, num_words

    def _find_matrix(self, position: int, file_size: int) -> int:
        """Returns where the values of the input matrix start. Its header is at `position`."""
        num_rows, dim, start = self._read_matrix_shape(position, file_size)
        if self._is_supervised:
            raise self._error(
                "is a supervised model (a classifier)",
                "Train an unsupervised one (skipgram or cbow) with `allennlp train-fasttext`.",
            )
        if dim != self._dim or num_rows != self._num_words + self._bucket:
            raise self._error(
                f"has a matrix of {num_rows} x {dim}, but its header says {self._num_words} words, "
                f"{self._bucket} buckets and dimension {self._dim}"
            )
        # The output matrix is not needed, but its end shows whether the file is complete.
        output_rows, output_dim, output_start = self._read_matrix_shape(
            start + 4 * num_rows * dim, file_size
        )
        if output_start + 4 * output_rows * output_dim > file_size:
            raise self._truncated_error()
        return start

    def _read_matrix_shape(self, position: int, file_size: int) -> Tuple[int, int, int]:
        """Returns the number of rows and columns of a matrix, and where its values start."""
        if not 0 <= position < file_size:
            raise self._truncated_error()
        header = self._read(1 + _MATRIX_SHAPE.size, position)
        if header[0]:
            raise self._quantised_error()
        num_rows, num_columns = _MATRIX_SHAPE.unpack_from(header, 1)
        return num_rows, num_columns, position + 1 + _MATRIX_SHAPE.size

    def _truncated_error(self) -> InvalidFileError:
        size = os.fstat(self._file).st_size
        return self._error(f"is truncated after {size} bytes, or damaged")

    def _quantised_error(self) -> InvalidFileError:
        return self._error(
            "is quantised (`.ftz`)",
            "Its vectors are only approximate: use the `.bin` file that it was made from.",
        )

    def _error(self, found: str, remedy: str = "Train it or copy it again.") -> InvalidFileError:
        return _error(self.path, found, remedy)


def _resolve(path: str) -> str:
    """The local file for a path or URL."""
    resolved = resolve_path(path, "`allennlp train-fasttext` makes such a file.", _KIND)
    if os.path.isdir(resolved):
        raise _error(path, "is a directory", "Give the `.bin` file in it.")
    return resolved


def _error(path: str, found: str, remedy: str) -> InvalidFileError:
    return InvalidFileError(path, found, remedy, _KIND)


def _encode(word: str) -> bytes:
    # UTF-8 cannot encode lone surrogates.
    return word.encode("utf-8", errors="replace")


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


# fastText uses 32-bit FNV-1a, but converts each byte to a signed char first.
_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_SIGN_EXTENDED = tuple(byte if byte < 128 else byte | 0xFFFFFF00 for byte in range(256))

_MAX_BYTES_PER_CHARACTER = 4


def ngram_hashes(word: bytes, min_length: int, max_length: int) -> List[int]:
    """
    The 32-bit hashes of all n-grams of `<word>`, by start position and then by length. `word` is in
    UTF-8; the lengths, fastText's `minn` and `maxn`, are in characters.
    """
    if not max_length:
        return []
    bracketed = b"<" + word + b">"
    # Continuation bytes in UTF-8 have the form 10xxxxxx.
    is_char_start = [byte & 0xC0 != 0x80 for byte in bracketed]
    signed = [_SIGN_EXTENDED[byte] for byte in bracketed]
    byte_and_is_char_end = list(zip(signed, is_char_start[1:] + [True]))
    max_bytes = max_length * _MAX_BYTES_PER_CHARACTER
    hashes = []
    for start, starts_char in enumerate(is_char_start):
        if not starts_char:
            continue
        length, hashed = 0, _FNV_OFFSET
        for byte, is_char_end in byte_and_is_char_end[start : start + max_bytes]:
            hashed = ((hashed ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
            if is_char_end:
                length += 1
                if length >= min_length:
                    hashes.append(hashed)
                if length == max_length:
                    break
    # The unigrams `<` and `>`, which come first and last, do not count.
    return hashes[1:-1] if min_length <= 1 else hashes
