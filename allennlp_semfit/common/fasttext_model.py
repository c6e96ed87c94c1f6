"""A fastText model on disk, as a table of word vectors that costs next to nothing to open."""

import mmap
import os
import struct
from functools import lru_cache
from typing import Dict, List, Tuple, Union
from weakref import WeakValueDictionary

import numpy
from allennlp.common.file_utils import cached_path

from allennlp_semfit.common.invalid_file import InvalidFileError

__all__ = ["FastTextModel"]

_MAGIC = 793712314
_VERSIONS = (11, 12)
_SUPERVISED = 3
_END_OF_SENTENCE = b"</s>"
_UNKNOWN = "<unk>"

# magic, version, then dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t, then the dictionary's size, nwords, nlabels, ntokens, pruneidx_size.
_HEADER = struct.Struct("<2i12id3i2q")
# A dictionary entry after its word and the closing zero byte: its count and its type.
_ENTRY_TAIL_BYTES = 9
_MATRIX_SHAPE = struct.Struct("<2q")

# fastText hashes bytes with 32-bit FNV-1a, but reads each one as a signed char first.
_FNV_OFFSET = 2166136261
_FNV_PRIME = 16777619
_SIGN_EXTENDED = tuple(byte if byte < 128 else byte | 0xFFFFFF00 for byte in range(256))

# Bounds the memory that the vector of one absurdly long word takes while it is being averaged.
_ROWS_AT_A_TIME = 4096


class FastTextModel:
    """
    The input vectors of an unsupervised fastText model (Bojanowski et al. 2017, "Enriching Word
    Vectors with Subword Information"), read from the `.bin` in place.

    A word's vector is the mean of its own row, if the dictionary has it, and of the rows of its
    character n-grams: what `fasttext.load_model(path).get_word_vector(word)` returns. A word with
    no row at all (unknown, and shorter than the shortest n-gram) has the vector of `<unk>`, where
    `fasttext` answers zeros.

    The matrix is memory-mapped, so that opening costs one pass over the dictionary, and all
    processes of a machine share one copy through the page cache. The dictionary is each process's
    own: for two million words it takes a second or two and 270 MB. The object pickles as its path,
    and `copy.deepcopy` gives the object itself.

    Build it with [`open`](#open), which returns the same object for the same file.

    # Parameters

    path : `Union[str, os.PathLike]`
        A model as `fasttext` or `allennlp train-fasttext` saves it, or anything else
        that AllenNLP's `cached_path` resolves to one.
    cache_size : `int`, optional (default = `131072`)
        How many words keep their vectors once computed, the most recently used first.
        A vector that is in use elsewhere stays shared beyond that.

    # Raises

    `InvalidFileError`
        If the file is missing, empty, cut short, quantised, supervised or no fastText model.
    """

    _opened: "WeakValueDictionary[Tuple[str, int, int], FastTextModel]" = WeakValueDictionary()

    def __init__(self, path: Union[str, os.PathLike], cache_size: int = 2**17) -> None:
        self.path = str(path)
        with open(_resolve(self.path), "rb") as file:
            if os.fstat(file.fileno()).st_size < _HEADER.size:
                raise self._error(
                    "is empty" if not os.fstat(file.fileno()).st_size else "is cut short",
                    "Train it again, or copy it again from where it is whole.",
                )
            self._buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._read_header()
        matrix_offset = self._read_dictionary()
        self._matrix = self._read_matrix(matrix_offset)
        self._in_use: WeakValueDictionary[str, numpy.ndarray] = WeakValueDictionary()
        self._recently_used = lru_cache(maxsize=cache_size)(self._shared_vector)
        self._unknown_vector = self._vector_of_unknown()

    @classmethod
    def open(cls, path: Union[str, os.PathLike]) -> "FastTextModel":
        """
        The model at `path`, the same object as long as anybody in this process holds it.

        # Raises

        `InvalidFileError`
            As the constructor.
        """
        resolved = _resolve(str(path))
        stat = os.stat(resolved)
        key = (os.path.realpath(resolved), stat.st_size, stat.st_mtime_ns)
        model = cls._opened.get(key)
        if model is None:
            model = cls(path)
            cls._opened[key] = model
        return model

    def __reduce__(self):
        # Another process may be working in another directory.
        path = os.path.abspath(self.path) if os.path.exists(self.path) else self.path
        return FastTextModel.open, (path,)

    def __deepcopy__(self, memo) -> "FastTextModel":
        return self

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self._dim

    @property
    def words(self) -> List[str]:
        """The dictionary, most frequent word first."""
        return [word.decode("utf-8", errors="replace") for word in self._rows]

    def __contains__(self, word: str) -> bool:
        return _encode(word) in self._rows

    def get_word_vector(self, word: str) -> numpy.ndarray:
        """
        The vector of any word. Read-only, since everybody who asks for this word shares it.

        # Returns

        `numpy.ndarray`
            Shape `(dim,)`, `float32`.

        # Raises

        `InvalidFileError`
            If the vector is not finite: the model is damaged.
        """
        return self._recently_used(word)

    def _shared_vector(self, word: str) -> numpy.ndarray:
        vector = self._in_use.get(word)
        if vector is None:
            rows = self._rows_of(_encode(word))
            vector = self._mean_of_rows(rows) if rows else self._unknown_vector
            if not numpy.isfinite(vector).all():
                raise self._error(
                    f"gives the word {word[:50]!r} a vector that is not finite",
                    "fastText leaves such rows behind when it trains with fewer than 10 threads. "
                    "Train the model again with `allennlp train-fasttext`, which does not.",
                )
            vector.setflags(write=False)
            self._in_use[word] = vector
        return vector

    def _rows_of(self, word: bytes) -> List[int]:
        row = self._rows.get(word)
        rows = [] if row is None else [row]
        if word != _END_OF_SENTENCE and self._bucket > 0:
            rows.extend(self._subword_rows(b"<" + word + b">"))
        return rows

    def _subword_rows(self, bracketed: bytes) -> List[int]:
        """The rows of a word's n-grams of characters, in fastText's order (repeats included)."""
        # Where each character starts: UTF-8's continuation bytes are those of the form 10xxxxxx.
        starts = [i for i, byte in enumerate(bracketed) if byte & 0xC0 != 0x80]
        num_characters = len(starts)
        starts.append(len(bracketed))
        rows = []
        for first in range(num_characters):
            hashed = _FNV_OFFSET
            for last in range(first, min(first + self._maxn, num_characters)):
                for byte in bracketed[starts[last] : starts[last + 1]]:
                    hashed = ((hashed ^ _SIGN_EXTENDED[byte]) * _FNV_PRIME) & 0xFFFFFFFF
                length = last - first + 1
                is_lone_bracket = length == 1 and (first == 0 or last == num_characters - 1)
                if length >= self._minn and not is_lone_bracket:
                    rows.append(self._num_words + hashed % self._bucket)
        return rows

    def _mean_of_rows(self, rows: List[int]) -> numpy.ndarray:
        # float32 all the way, in the order of the rows: fastText does the same sum.
        total = self._matrix[rows[:_ROWS_AT_A_TIME]].sum(axis=0)
        for start in range(_ROWS_AT_A_TIME, len(rows), _ROWS_AT_A_TIME):
            block = self._matrix[rows[start : start + _ROWS_AT_A_TIME]]
            block[0] += total
            total = block.sum(axis=0)
        return total * numpy.float32(1.0 / len(rows))

    def _vector_of_unknown(self) -> numpy.ndarray:
        rows = self._rows_of(_encode(_UNKNOWN))
        if rows:
            return self._mean_of_rows(rows)
        # A model without subwords that has no `<unk>` either: the mean of all words.
        mean = self._matrix[: self._num_words].mean(axis=0, dtype=numpy.float64)
        return mean.astype(numpy.float32)

    def _read_header(self) -> None:
        header = _HEADER.unpack_from(self._buffer)
        magic, version, dim = header[:3]
        kind, bucket, minn, maxn = header[9:13]
        num_entries, num_words = header[15:17]
        num_pruned = header[19]
        if magic != _MAGIC or version not in _VERSIONS:
            raise self._error(
                "is not a fastText model",
                "A `.bin` is wanted, as `fasttext` saves it; vectors in text (`.vec`) lack the "
                "subwords.",
            )
        if num_pruned >= 0:
            raise self._quantised()
        self._is_supervised = kind == _SUPERVISED
        self._dim, self._bucket, self._minn, self._maxn = dim, bucket, minn, maxn
        self._num_entries, self._num_words = num_entries, num_words

    def _read_dictionary(self) -> int:
        """Reads which row belongs to which word. Returns where the dictionary ends."""
        self._rows: Dict[bytes, int] = {}
        buffer, position = self._buffer, _HEADER.size
        for row in range(self._num_entries):
            end = buffer.find(b"\0", position)
            if end < 0:
                raise self._cut_short()
            self._rows[buffer[position:end]] = row
            position = end + 1 + _ENTRY_TAIL_BYTES
        return position

    def _read_matrix(self, position: int) -> numpy.ndarray:
        """The input matrix, not read but mapped. Shape `(words + buckets, dim)`."""
        num_rows, dim, position = self._read_matrix_shape(position)
        if self._is_supervised:
            raise self._error(
                "is a supervised model (a classifier)",
                "Train an unsupervised one (skipgram or cbow) with `allennlp train-fasttext`.",
            )
        if dim != self._dim or num_rows != self._num_words + self._bucket:
            raise self._error(
                f"has a matrix of {num_rows} rows of {dim} where its header says "
                f"{self._num_words} words, {self._bucket} buckets and dimension {self._dim}",
                "Train it again, or copy it again from where it is whole.",
            )
        # The output matrix is not needed, but shows whether the file is whole.
        after = position + 4 * num_rows * dim
        output_rows, output_dim, output_position = self._read_matrix_shape(after)
        if output_position + 4 * output_rows * output_dim > len(self._buffer):
            raise self._cut_short()
        matrix = numpy.frombuffer(self._buffer, "<f4", count=num_rows * dim, offset=position)
        return matrix.reshape(num_rows, dim)

    def _read_matrix_shape(self, position: int) -> Tuple[int, int, int]:
        """Reads a matrix's header. Returns its rows, its columns and where its values start."""
        if position + 1 + _MATRIX_SHAPE.size > len(self._buffer):
            raise self._cut_short()
        if self._buffer[position]:
            raise self._quantised()
        num_rows, num_columns = _MATRIX_SHAPE.unpack_from(self._buffer, position + 1)
        return num_rows, num_columns, position + 1 + _MATRIX_SHAPE.size

    def _cut_short(self) -> InvalidFileError:
        return self._error(
            f"is cut short after {len(self._buffer)} bytes",
            "Train it again, or copy it again from where it is whole.",
        )

    def _quantised(self) -> InvalidFileError:
        return self._error(
            "is quantised (`.ftz`)",
            "Its vectors are only approximate: take the `.bin` that it was made from.",
        )

    def _error(self, found: str, remedy: str) -> InvalidFileError:
        return InvalidFileError(f"fastText model {self.path} {found}. {remedy}")


def _resolve(path: str) -> str:
    """The local file that `path`, or the URL that it may be, stands for."""
    try:
        resolved = cached_path(path)
    except FileNotFoundError:
        raise InvalidFileError(
            f"fastText model {path} does not exist (working directory: {os.getcwd()}). "
            "`allennlp train-fasttext` makes such a file."
        ) from None
    if os.path.isdir(resolved):
        raise InvalidFileError(
            f"fastText model {path} is a directory. `model_path` wants the `.bin` file itself."
        )
    return str(resolved)


def _encode(word: str) -> bytes:
    # A lone surrogate is the only thing in a string that UTF-8 cannot say.
    return word.encode("utf-8", errors="replace")
