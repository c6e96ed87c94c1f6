import os
import unicodedata
from functools import lru_cache
from typing import Union

import numpy

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.common.opened import OpenedOnce

# The number of cached vectors, about 1.7 kB each at 300 dimensions.
_CACHE_SIZE = 2**16


class FastTextVectors(OpenedOnce):
    """
    The vectors of a fastText model, read from a file on demand. Every string has a vector.

    Use `open(path)`, which returns the same object for the same file while it is referenced in this
    process. The object is pickled as its path, and `copy.deepcopy` returns the object itself.

    Subclasses implement `dim`, `__contains__` and `_load_vector`.

    # Parameters

    path : `Union[str, os.PathLike]`
        A path, or a URL that AllenNLP's `cached_path` can download.
    """

    kind = "fastText model"
    """The kind of file in error messages."""

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        super().__init__(path)
        self.path = str(path)
        self._cached_vector = lru_cache(maxsize=_CACHE_SIZE)(self._read_only_vector)

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        raise NotImplementedError

    def __contains__(self, word: str) -> bool:
        """Whether the dictionary contains the word."""
        raise NotImplementedError

    def get_word_vector(self, word: str) -> numpy.ndarray:
        """
        Returns the vector of any word, as a read-only array that all callers share.

        # Returns

        `numpy.ndarray`
            Shape `(dim,)`, `float32`.

        # Raises

        `InvalidFileError`
            If the vector is not finite, because the model is damaged.
        """
        return self._cached_vector(word)

    def get_normalized_word_vector(self, word: str) -> numpy.ndarray:
        """
        Returns the vector of the word or, if the dictionary does not contain the word, of its
        Unicode normalization form C, which `allennlp prepare-corpus` writes.
        """
        if not (unicodedata.is_normalized("NFC", word) or word in self):
            word = unicodedata.normalize("NFC", word)
        return self.get_word_vector(word)

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

    def _error(self, found: str, remedy: str = "Train it or copy it again.") -> InvalidFileError:
        return InvalidFileError(self.path, found, remedy, self.kind)


def encode(word: str) -> bytes:
    # UTF-8 cannot encode lone surrogates; they become question marks.
    return word.encode("utf-8", errors="replace")
