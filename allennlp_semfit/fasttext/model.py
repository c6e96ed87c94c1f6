"""A fastText model on disk, as a table of word vectors that costs next to nothing to open."""

import mmap
import os
import struct
from functools import cached_property, lru_cache
from typing import List, Sequence, Tuple, Union
from weakref import WeakValueDictionary, finalize

import numpy
from allennlp.common.file_utils import cached_path

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.fasttext.dictionary import FastTextDictionary
from allennlp_semfit.fasttext.ngrams import subword_hashes

__all__ = ["FastTextModel"]

_MAGIC = 793712314
_VERSIONS = (11, 12)
_SUPERVISED = 3
_END_OF_SENTENCE = b"</s>"
_UNKNOWN = "<unk>"

# magic, version, then dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t, then the dictionary's size, nwords, nlabels, ntokens, pruneidx_size.
_HEADER = struct.Struct("<2i12id3i2q")
_MATRIX_SHAPE = struct.Struct("<2q")

# Bounds the memory that averaging takes, be it the vectors of one absurdly long word.
_ROWS_AT_A_TIME = 4096

# Not on macOS.
_CAN_ADVISE = hasattr(os, "posix_fadvise")


class FastTextModel:
    """
    The input vectors of an unsupervised fastText model (Bojanowski et al. 2017, "Enriching Word
    Vectors with Subword Information"), read from the `.bin` in place.

    A word's vector is the mean of its own row, if the dictionary has it, and of the rows of its
    character n-grams: what `fasttext.load_model(path).get_word_vector(word)` returns. A word with
    no row at all (unknown, and shorter than the shortest n-gram) has the vector of `<unk>`, where
    `fasttext` answers zeros.

    Opening costs one pass over the dictionary: for two million words, a second or two and 32 MB,
    which forked processes share. Of the matrix, the rows of a word are read when it is looked up,
    and nothing else: the system keeps them for all processes of the machine, and a process's own
    are only the last vectors that it used, about 1.7 kB each at 300 dimensions. The object pickles
    as its path, and `copy.deepcopy` gives the object itself.

    Build it with [`open`](#open), which returns the same object for the same file.

    # Parameters

    path : `Union[str, os.PathLike]`
        A model as `fasttext` or `allennlp train-fasttext` saves it, or anything else
        that AllenNLP's `cached_path` resolves to one.
    cache_size : `int`, optional (default = `65536`)
        How many words keep their vectors once computed, the most recently used first.
        A vector that is in use elsewhere stays shared beyond that.

    # Raises

    `InvalidFileError`
        If the file is missing, empty, cut short, quantised, supervised or no fastText model.
    """

    _opened: "WeakValueDictionary[Tuple[str, int, int], FastTextModel]" = WeakValueDictionary()

    def __init__(self, path: Union[str, os.PathLike], cache_size: int = 2**16) -> None:
        self.path = str(path)
        self._file = os.open(_resolve(self.path), os.O_RDONLY)
        finalize(self, os.close, self._file)
        size = os.fstat(self._file).st_size
        if size < _HEADER.size:
            raise self._error(
                "is cut short" if size else "is empty",
                "Train it again, or copy it again from where it is whole.",
            )
        # Mapped to be parsed only. Rows of a mapping would be faster to read again, but count as
        # the process's memory, as does what happens to be in the page cache around each of them.
        with mmap.mmap(self._file, 0, access=mmap.ACCESS_READ) as buffer:
            self._read_header(buffer)
            try:
                self._dictionary = FastTextDictionary(
                    self._file, buffer, _HEADER.size, self._num_entries
                )
            except EOFError:
                raise self._cut_short() from None
            self._matrix_start = self._find_matrix(buffer, self._dictionary.end)
        if _CAN_ADVISE:
            # Else the system reads ahead, and all of the file in the end.
            os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_RANDOM)
        self._in_use: WeakValueDictionary[str, numpy.ndarray] = WeakValueDictionary()
        self._recently_used = lru_cache(maxsize=cache_size)(self._shared_vector)

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
        return [word.decode("utf-8", errors="replace") for word in dict.fromkeys(self._dictionary)]

    def __contains__(self, word: str) -> bool:
        return self._dictionary.row(_encode(word)) is not None

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
        row = self._dictionary.row(word)
        rows = [] if row is None else [row]
        if word != _END_OF_SENTENCE and self._bucket > 0:
            hashes = subword_hashes(word, self._minn, self._maxn)
            rows.extend([self._num_words + hashed % self._bucket for hashed in hashes])
        return rows

    def _mean_of_rows(self, rows: List[int]) -> numpy.ndarray:
        # float32 all the way, in the order of the rows: fastText does the same sum.
        total = self._read_rows(rows[:_ROWS_AT_A_TIME]).sum(axis=0)
        for start in range(_ROWS_AT_A_TIME, len(rows), _ROWS_AT_A_TIME):
            block = self._read_rows(rows[start : start + _ROWS_AT_A_TIME])
            block[0] += total
            total = block.sum(axis=0)
        return total * numpy.float32(1.0 / len(rows))

    def _read_rows(self, rows: Sequence[int]) -> numpy.ndarray:
        """Rows of the input matrix. Shape `(len(rows), dim)`."""
        file, size = self._file, 4 * self._dim
        starts = [self._matrix_start + row * size for row in rows]
        if _CAN_ADVISE:
            # What is not in memory yet then comes from the disk at once, not row after row.
            for start in starts:
                os.posix_fadvise(file, start, size, os.POSIX_FADV_WILLNEED)
        data = bytearray().join([os.pread(file, size, start) for start in starts])
        if len(data) < len(rows) * size:
            raise self._cut_short()
        return numpy.frombuffer(data, "<f4").reshape(len(rows), self._dim)

    @cached_property
    def _unknown_vector(self) -> numpy.ndarray:
        rows = self._rows_of(_encode(_UNKNOWN))
        if rows:
            return self._mean_of_rows(rows)
        # A model without subwords that has no `<unk>` either: the mean of all words.
        total = numpy.zeros(self._dim)
        for start in range(0, self._num_words, _ROWS_AT_A_TIME):
            block = range(start, min(start + _ROWS_AT_A_TIME, self._num_words))
            total += self._read_rows(block).sum(axis=0, dtype=numpy.float64)
        return (total / self._num_words).astype(numpy.float32)

    def _read_header(self, buffer: mmap.mmap) -> None:
        header = _HEADER.unpack_from(buffer)
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

    def _find_matrix(self, buffer: mmap.mmap, position: int) -> int:
        """Where the values of the input matrix start, whose header is at `position`."""
        num_rows, dim, start = self._read_matrix_shape(buffer, position)
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
        output_rows, output_dim, output_start = self._read_matrix_shape(
            buffer, start + 4 * num_rows * dim
        )
        if output_start + 4 * output_rows * output_dim > len(buffer):
            raise self._cut_short()
        return start

    def _read_matrix_shape(self, buffer: mmap.mmap, position: int) -> Tuple[int, int, int]:
        """Reads a matrix's header. Returns its rows, its columns and where its values start."""
        if position + 1 + _MATRIX_SHAPE.size > len(buffer):
            raise self._cut_short()
        if buffer[position]:
            raise self._quantised()
        num_rows, num_columns = _MATRIX_SHAPE.unpack_from(buffer, position + 1)
        return num_rows, num_columns, position + 1 + _MATRIX_SHAPE.size

    def _cut_short(self) -> InvalidFileError:
        return self._error(
            f"is cut short after {os.fstat(self._file).st_size} bytes",
            "Train it again, or copy it again from where it is whole.",
        )

    def _quantised(self) -> InvalidFileError:
        return self._error(
            "is quantised (`.ftz`)",
            "Its vectors are only approximate: take the `.bin` that it was made from.",
        )

    def _error(self, found: str, remedy: str) -> InvalidFileError:
        return _error(self.path, found, remedy)


def _resolve(path: str) -> str:
    """The local file that `path`, or the URL that it may be, stands for."""
    try:
        resolved = cached_path(path)
    except FileNotFoundError:
        raise _error(
            path,
            f"does not exist (working directory: {os.getcwd()})",
            "`allennlp train-fasttext` makes such a file.",
        ) from None
    if os.path.isdir(resolved):
        raise _error(path, "is a directory", "The `.bin` file itself is wanted.")
    return str(resolved)


def _error(path: str, found: str, remedy: str) -> InvalidFileError:
    return InvalidFileError(path, found, remedy, kind="fastText model")


def _encode(word: str) -> bytes:
    # A lone surrogate is the only thing in a string that UTF-8 cannot say.
    return word.encode("utf-8", errors="replace")
