import os
import re
import struct
from array import array
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache
from mmap import ACCESS_READ, mmap
from typing import List, Optional, Sequence, Tuple, Union
from unicodedata import is_normalized, normalize
from weakref import finalize
from zlib import crc32

import numpy

from allennlp_semfit.common.errors import InvalidFileError, check_not_compressed, resolve_file
from allennlp_semfit.common.opened import OpenedOnce
from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN

_MAGIC = 793712314
_VERSIONS = (11, 12)
_SUPERVISED = 3
UNKNOWN = "<unk>"

# magic, version, then dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t, then the dictionary's size, nwords, nlabels, ntokens, pruneidx_size.
_HEADER = struct.Struct("<2i12id3i2q")
# A word, a zero byte, its count and its type, or the rest of a damaged file: otherwise, the search
# would start again at each byte of the rest.
_ENTRY = re.compile(rb"([^\0]*)\0.{9}|.+", re.DOTALL)
_BYTES_AFTER_WORD = 10
# Whether the matrix is quantized, then its numbers of rows and columns.
_MATRIX_SHAPE = struct.Struct("<?2q")

# The number of cached vectors, about 1.7 kB each at 300 dimensions.
_CACHE_SIZE = 2**16
# Bounds the memory for averaging, even for a very long word.
_MAX_ROWS_PER_READ = 4096


class FastTextVectors(OpenedOnce):
    """
    The vectors of a fastText model, read from a file on demand. Every string has a vector.

    Subclasses set `dim` and implement `_row_of` and `_load_vector`. `path` may be a URL that
    AllenNLP's `cached_path` can download.
    """

    kind = "fastText model"
    """The kind of file in error messages."""

    dim: int
    """The dimension of the vectors."""

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        super().__init__(path)
        self.path = str(path)
        self._cached_vector = lru_cache(maxsize=_CACHE_SIZE)(self._read_only_vector)

    def __contains__(self, word: str) -> bool:
        """Whether the dictionary contains the word."""
        return self._row_of(encode(word)) is not None

    def get_word_vector(self, word: str) -> numpy.ndarray:
        """
        Returns the vector of any word, as a read-only array that all callers share. Shape `(dim,)`,
        `float32`. Raises an `InvalidFileError` if it is not finite, because the model is damaged.
        """
        return self._cached_vector(word)

    def get_word_vectors(self, words: Sequence[str]) -> List[numpy.ndarray]:
        """
        Returns the vector of each word or, if the dictionary does not contain the word, of its
        Unicode normalization form C, which `allennlp prepare-corpus` writes.
        """
        forms = (
            word if is_normalized("NFC", word) or word in self else normalize("NFC", word)
            for word in words
        )
        return list(map(self.get_word_vector, forms))

    def _read_only_vector(self, word: str) -> numpy.ndarray:
        vector = self._load_vector(word)
        if not numpy.isfinite(vector).all():
            raise self._error(
                f"has a vector for the word {word[:50]!r} that is not finite",
                "fastText can leave such rows when it trains with fewer than 11 threads. Train "
                "the model again with `allennlp train-fasttext`, which prevents this.",
            )
        vector.setflags(write=False)
        return vector

    def _load_vector(self, word: str) -> numpy.ndarray:
        raise NotImplementedError

    def _row_of(self, word: bytes) -> Optional[int]:
        """The row of a word of the dictionary, the last row if there are several."""
        raise NotImplementedError

    def _error(self, found: str, remedy: str = "Train it or copy it again.") -> InvalidFileError:
        return InvalidFileError(self.path, found, remedy, self.kind)


def encode(word: str) -> bytes:
    # UTF-8 cannot encode lone surrogates; they become question marks.
    return word.encode("utf-8", errors="replace")


class FastTextModel(FastTextVectors):
    """
    The input vectors of an unsupervised fastText model (Bojanowski et al. 2017, "Enriching Word
    Vectors with Subword Information"), read from the `.bin` file on demand.

    A word's vector is the mean of its own row, if it is in the dictionary, and the rows of its
    character n-grams, as `fasttext.load_model(path).get_word_vector(word)` returns it. An unknown
    word that is shorter than the shortest n-gram has no rows; it gets the vector of `<unk>`, where
    `fasttext` returns zeros. `word in model` tests whether the dictionary contains a word, and
    `dim` is the dimension of the vectors.

    Opening a model reads its dictionary: for two million words, this takes one to two seconds and
    32 MB, which forked processes share. A lookup reads words and rows of the matrix from the file,
    which the operating system's page cache keeps for all processes.

    # Parameters

    path : `Union[str, os.PathLike]`
        A model saved by `fasttext` or `allennlp train-fasttext`.

    # Raises

    `InvalidFileError`
        If the file is missing, compressed, truncated, supervised or not a fastText model.

    # Example

    ```python
    model = FastTextModel.open("data/sample/vectors.bin")
    vector = model.get_word_vector("cat")
    ```
    """

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        super().__init__(path)
        remedy = "`allennlp train-fasttext` makes such a file."
        self._file = os.open(resolve_file(path, remedy, self.kind), os.O_RDONLY)
        finalize(self, os.close, self._file)
        remedy = "Use the `.bin` file that `fasttext` saves; a text file (`.vec`) has no n-grams."
        check_not_compressed(os.pread(self._file, _HEADER.size, 0), path, remedy, self.kind)
        header = _HEADER.unpack(self._read(_HEADER.size, 0))
        magic, version, self.dim = header[:3]
        kind, self.bucket, self.minn, self.maxn = header[9:13]
        num_entries, self._num_words = header[15:17]
        if magic != _MAGIC or version not in _VERSIONS:
            raise self._error("is not a fastText model", remedy)
        # Every quantized model (`.ftz`) is supervised too.
        if kind == _SUPERVISED:
            raise self._error(
                "is a supervised model (a classifier)",
                "Train an unsupervised one (skipgram or cbow) with `allennlp train-fasttext`.",
            )
        self._find_words(num_entries)
        self._find_matrix(self._word_starts[-1])
        # Otherwise, read-ahead would eventually load the whole file.
        self._advise("POSIX_FADV_RANDOM", 0, 0)

    @property
    def words(self) -> List[str]:
        """The words of the dictionary, sorted by decreasing frequency."""
        # The labels follow the words.
        words = dict.fromkeys(map(self._word, range(self._num_words)))
        return [word.decode("utf-8", errors="replace") for word in words]

    def buckets_of(self, word: bytes) -> List[int]:
        """The bucket of each n-gram of a word, which is given in UTF-8."""
        if word == DEFAULT_BOUNDARY_TOKEN.encode() or not self.bucket:
            return []
        return [hashed % self.bucket for hashed in ngram_hashes(word, self.minn, self.maxn)]

    def read_buckets(self, buckets: Sequence[int]) -> numpy.ndarray:
        """Reads the rows of the matrix for buckets of n-grams. Shape `(len(buckets), dim)`."""
        return self._read_rows([self._num_words + bucket for bucket in buckets])

    def _load_vector(self, word: str) -> numpy.ndarray:
        rows = self._row_indices(encode(word))
        return self._mean_row(rows) if rows else self._unknown_vector

    def _row_indices(self, word: bytes) -> List[int]:
        row = self._row_of(word)
        # Labels do not have a row.
        rows = [] if row is None or row >= self._num_words + self.bucket else [row]
        return rows + [self._num_words + bucket for bucket in self.buckets_of(word)]

    def _row_of(self, word: bytes) -> Optional[int]:
        hashed = crc32(word)
        first, end = bisect_left(self._hashes, hashed), bisect_right(self._hashes, hashed)
        rows = self._rows_by_hash[first:end].tolist()
        return max((row for row in rows if self._word(row) == word), default=None)

    def _word(self, row: int) -> bytes:
        start, end = self._word_starts[row : row + 2]
        return self._read(end - _BYTES_AFTER_WORD - start, start)

    def _mean_row(self, rows: List[int]) -> numpy.ndarray:
        # Sum in float32 and in the order of the rows, as fastText does.
        total = self._read_rows(rows[:_MAX_ROWS_PER_READ]).sum(axis=0)
        for start in range(_MAX_ROWS_PER_READ, len(rows), _MAX_ROWS_PER_READ):
            block = self._read_rows(rows[start : start + _MAX_ROWS_PER_READ])
            block[0] += total
            total = block.sum(axis=0)
        return total * numpy.float32(1.0 / len(rows))

    def _read_rows(self, rows: Sequence[int]) -> numpy.ndarray:
        """Reads rows of the input matrix. Shape `(len(rows), dim)`."""
        # The pages of a memory map would count as memory of this process.
        size = 4 * self.dim
        starts = [self._matrix_start + row * size for row in rows]
        # Read the rows that are not in memory in parallel.
        for start in starts:
            self._advise("POSIX_FADV_WILLNEED", start, size)
        data = bytearray().join([self._read(size, start) for start in starts])
        return numpy.frombuffer(data, "<f4").reshape(len(rows), self.dim)

    @cached_property
    def _unknown_vector(self) -> numpy.ndarray:
        rows = self._row_indices(encode(UNKNOWN))
        if rows:
            return self._mean_row(rows)
        # Without n-grams and `<unk>`, use the mean of all words.
        total = numpy.zeros(self.dim)
        for start in range(0, self._num_words, _MAX_ROWS_PER_READ):
            block = range(start, min(start + _MAX_ROWS_PER_READ, self._num_words))
            total += self._read_rows(block).sum(axis=0, dtype=numpy.float64)
        return (total / self._num_words).astype(numpy.float32)

    def _read(self, size: int, start: int) -> bytes:
        data = os.pread(self._file, size, start)
        if len(data) < size:
            raise self._truncated_error()
        return data

    def _advise(self, advice: str, start: int, size: int) -> None:
        # macOS has no such call.
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file, start, size, getattr(os, advice))

    def _find_words(self, num_entries: int) -> None:
        """
        Stores the positions of the words and their sorted hashes, 16 bytes per word, in arrays,
        which forked processes share. A `dict` would be copied in each process, because accessing an
        object changes its reference count.
        """
        starts, hashes = array("Q", [_HEADER.size]), array("I")
        # Close the memory map, because its pages count as memory of this process.
        with mmap(self._file, 0, access=ACCESS_READ) as data:
            for _, entry in zip(range(num_entries), _ENTRY.finditer(data, _HEADER.size)):
                if entry[1] is None:
                    break
                hashes.append(crc32(entry[1]))
                starts.append(entry.end())
        if len(hashes) < num_entries:
            raise self._truncated_error()
        by_hash = numpy.argsort(numpy.array(hashes))
        self._word_starts = starts
        self._hashes = array("I", numpy.array(hashes)[by_hash].tobytes())
        self._rows_by_hash = by_hash.astype("u4")

    def _find_matrix(self, position: int) -> None:
        """Finds the values of the input matrix, whose shape is at `position`."""
        num_rows, dim, self._matrix_start = self._read_matrix_shape(position)
        if dim != self.dim or num_rows != self._num_words + self.bucket:
            raise self._error(
                f"has a matrix of {num_rows} x {dim}, but its header says {self._num_words} words, "
                f"{self.bucket} buckets and dimension {self.dim}"
            )
        # The end of the output matrix shows whether the file is complete.
        num_rows, dim, start = self._read_matrix_shape(self._matrix_start + 4 * num_rows * dim)
        if start + 4 * num_rows * dim > os.fstat(self._file).st_size:
            raise self._truncated_error()

    def _read_matrix_shape(self, position: int) -> Tuple[int, int, int]:
        """Returns the number of rows and columns of a matrix, and the position of its values."""
        shape = self._read(_MATRIX_SHAPE.size, position)
        _, num_rows, num_columns = _MATRIX_SHAPE.unpack(shape)
        return num_rows, num_columns, position + len(shape)

    def _truncated_error(self) -> InvalidFileError:
        size = os.fstat(self._file).st_size
        return self._error(f"is truncated after {size} bytes, or damaged")


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
