import unicodedata
from typing import Any, List

import numpy
from allennlp.common import Params
from allennlp.data.token_indexers import TokenIndexer

from allennlp_semfit.common.errors import with_config_key
from allennlp_semfit.data.word_vector_indexer import WordVectorIndexer
from allennlp_semfit.fasttext.model import FastTextModel

__all__ = ["FastTextIndexer"]


@TokenIndexer.register("fasttext")
class FastTextIndexer(WordVectorIndexer):
    """
    Looks up the fastText vector of each token while the data is read, so that the model needs
    neither a table of vectors nor a vocabulary. Use it with `"vocabulary": {"type": "empty"}` and
    the `fasttext` embedder.

    A word that fastText's dictionary lacks is looked up in Unicode's normalization form C, which
    `allennlp prepare-corpus` writes.

    Registered as a `TokenIndexer` with name "fasttext".

    # Parameters

    model_path : `str`
        An unsupervised fastText `.bin`. It is opened once per process and read on demand.
    token_min_padding_length : `int`, optional (default = `0`)
        See `TokenIndexer`.

    # Raises

    `ConfigurationError`
        If `model_path` is missing or is not an unsupervised model; see `FastTextModel`.

    # Example

    ```json
    "token_indexers": {"fasttext": {"type": "fasttext", "model_path": "vectors.bin"}}
    ```
    """

    def __init__(self, model_path: str, token_min_padding_length: int = 0) -> None:
        super().__init__(token_min_padding_length)
        self._model = FastTextModel.open(model_path)

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "FastTextIndexer":
        with with_config_key(params, "model_path"):
            return super().from_params(params, *args, **extras)

    @property
    def embedding_dim(self) -> int:
        return self._model.dim

    @property
    def path(self) -> str:
        return self._model.path

    def get_word_vectors(self, words: List[str]) -> List[numpy.ndarray]:
        # The same object for the same word.
        return [self._model.get_word_vector(self._normalize(word)) for word in words]

    def _normalize(self, word: str) -> str:
        if unicodedata.is_normalized("NFC", word) or word in self._model:
            return word
        return unicodedata.normalize("NFC", word)
