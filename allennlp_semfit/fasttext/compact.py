import os
from bisect import bisect_left
from pathlib import Path
from typing import Iterable, Optional, Set, Union

import numpy
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from allennlp_semfit.common.errors import resolve_file
from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN
from allennlp_semfit.fasttext.model import (
    UNKNOWN,
    FastTextModel,
    FastTextVectors,
    encode,
    ngram_hashes,
)

_SUFFIX = ".safetensors"
_INT8_MAX = 127
_ROWS_PER_READ = 4096
# The number of rows that the mean of the others is estimated from.
_MAX_OTHERS = 4096

_TYPES = {
    "words": "U8",
    "word_ends": "I64",
    "word_vectors": "F16",
    "buckets": "I32",
    "bucket_scales": "F32",
    "bucket_rows": "I8",
    "other_row": "F32",
}


class CompactFastText(FastTextVectors):
    """
    The vectors of a `FastTextModel` in a safetensors file that `write_compact` wrote.

    The file contains the vector of each word of the dictionary in `float16`. The vector of another
    word is the mean over its n-grams, as in fastText. The row of an n-gram is stored as 8-bit
    integers and a scale. N-grams that occur in no word of the dictionary, which fastText leaves at
    their random initial values, are left out: they all have the mean of such rows, which is about
    zero unless the vectors were whitened.

    Opening a file reads everything but the vectors: for a million words, 20 MB in 20 milliseconds.
    Raises an `InvalidFileError` if the file is missing, damaged or of another kind.
    """

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        super().__init__(path)
        remedy = "`allennlp export-model --compact` makes such a file."
        file = resolve_file(path, remedy, self.kind)
        try:
            opened = safe_open(file, "numpy")
            types = {name: opened.get_slice(name).get_dtype() for name in _TYPES}
            if types != _TYPES:
                raise ValueError(f"its tensors have the types {types}")
            sizes = opened.metadata() or {}
            self._bucket, self._minn, self._maxn = (
                int(sizes[name]) for name in ("bucket", "minn", "maxn")
            )
            if self._bucket not in range(2**31):
                raise ValueError(f"`bucket` is {self._bucket}")
            self._words = opened.get_tensor("words").tobytes()
            self._word_ends = opened.get_tensor("word_ends")
            self._buckets = opened.get_tensor("buckets")
            self._scales = opened.get_tensor("bucket_scales")
            self._other_row = opened.get_tensor("other_row")
            self._word_vectors = opened.get_slice("word_vectors")
            self._bucket_rows = opened.get_slice("bucket_rows")
            num_words, self.dim = self._word_vectors.get_shape()
            tables = self._word_ends, self._buckets, self._scales, self._other_row
            shapes = tuple(table.shape for table in tables)
            rows_shape = self._bucket_rows.get_shape()
        except (SafetensorError, LookupError, OSError, TypeError, ValueError) as error:
            raise self._error(f"cannot be read ({error})", remedy) from None
        num_buckets = self._buckets.size
        expected = (num_words,), (num_buckets,), (num_buckets,), (self.dim,)
        is_empty = self._bucket and not num_buckets
        if is_empty or shapes != expected or rows_shape != [num_buckets, self.dim]:
            raise self._error("has tables of different lengths")

    def _load_vector(self, word: str) -> numpy.ndarray:
        row = self._row_of(encode(word))
        hashes = ngram_hashes(encode(word), self._minn, self._maxn) if self._bucket else []
        if row is None and not hashes:
            row = self._row_of(encode(UNKNOWN))
        if row is not None:
            return self._word_vectors[row].astype(numpy.float32)
        # For another type than the table's, `searchsorted` would convert the whole table.
        buckets = (numpy.array(hashes, numpy.uint32) % self._bucket).astype(numpy.int32)
        rows = numpy.searchsorted(self._buckets, buckets).clip(max=len(self._buckets) - 1)
        rows = rows[self._buckets[rows] == buckets]
        values = numpy.array([self._bucket_rows[row] for row in rows.tolist()], numpy.float32)
        total = self._scales[rows] @ values.reshape(-1, self.dim)
        total += (len(hashes) - len(rows)) * self._other_row
        return total / numpy.float32(len(hashes))

    def _row_of(self, word: bytes) -> Optional[int]:
        num_words = len(self._word_ends)
        row = bisect_left(range(num_words), word, key=self._word)
        return row if row < num_words and self._word(row) == word else None

    def _word(self, row: int) -> bytes:
        start = self._word_ends[row - 1] if row else 0
        return self._words[start : self._word_ends[row]]


def write_compact(model: FastTextModel, path: Path, boundary_tokens: Iterable[str] = ()) -> None:
    """
    Writes a file for `CompactFastText`. Boundary tokens that are not in the dictionary are written
    like its words: they precede every sentence. This takes a few minutes for a million words.
    """
    from allennlp.common import Tqdm

    added = DEFAULT_BOUNDARY_TOKEN, UNKNOWN, *boundary_tokens
    words = sorted({encode(word) for word in (*model.words, *added)})
    vectors = numpy.empty((len(words), model.dim), numpy.float16)
    used: Set[int] = set()
    for row, word in enumerate(Tqdm.tqdm(words, "reading vectors", unit=" words")):
        vectors[row] = model.get_word_vector(word.decode())
        used.update(model.buckets_of(word))
    buckets = numpy.array(sorted(used), numpy.int32)
    scales = numpy.empty(len(buckets), numpy.float32)
    rows = numpy.empty((len(buckets), model.dim), numpy.int8)
    for start in range(0, len(buckets), _ROWS_PER_READ):
        chunk = slice(start, start + _ROWS_PER_READ)
        values = model.read_buckets(buckets[chunk].tolist())
        # Avoid a scale of zero.
        scales[chunk] = numpy.maximum(
            numpy.abs(values).max(axis=1) / _INT8_MAX, numpy.finfo("f4").tiny
        )
        rows[chunk] = numpy.rint(values / scales[chunk, None])
    other_row = numpy.zeros(model.dim, numpy.float32)
    others = numpy.delete(numpy.arange(model.bucket), buckets)[:_MAX_OTHERS]
    if len(others):
        other_row = model.read_buckets(others.tolist()).mean(axis=0)
    tensors = {
        "words": numpy.frombuffer(b"".join(words), numpy.uint8),
        "word_ends": numpy.cumsum([len(word) for word in words]),
        "word_vectors": vectors,
        "buckets": buckets,
        "bucket_scales": scales,
        "bucket_rows": rows,
        "other_row": other_row,
    }
    bucket = model.bucket if len(buckets) else 0
    sizes = {"bucket": str(bucket), "minn": str(model.minn), "maxn": str(model.maxn)}
    # `save` would need memory for two more copies; `save_file` sets the mode 0600.
    path.touch()
    mode = path.stat().st_mode
    save_file(tensors, path, sizes)
    path.chmod(mode)


def open_fasttext(path: str) -> FastTextVectors:
    """Opens a `CompactFastText` if the suffix is `.safetensors`, otherwise a `FastTextModel`."""
    opened = CompactFastText if path.endswith(_SUFFIX) else FastTextModel
    return opened.open(path)
