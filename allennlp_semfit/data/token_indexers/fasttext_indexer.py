import math
import multiprocessing
from typing import Any, Dict, List, Sequence

import numpy
import torch
from allennlp.common import Params
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token

from allennlp_semfit.common.errors import with_config_key
from allennlp_semfit.data.token_indexers.word_indexer import WordIndexer
from allennlp_semfit.fasttext.model import FastTextModel

__all__ = ["FastTextIndexer"]


@TokenIndexer.register("fasttext")
class FastTextIndexer(WordIndexer):
    """
    Looks up the fastText vector of each token while the data is read, so that the model needs
    neither a table of vectors nor a vocabulary. Use it with `"vocabulary": {"type": "empty"}` and
    the `fasttext` embedder.

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
        """The dimension of the vectors."""
        return self._model.dim

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        # Every word has a vector, so there is nothing to count.
        pass

    def words_to_indices(self, words: List[str]) -> IndexedTokenList:
        """
        `"vectors"`: an array of shape `(dim,)` for each word, the same object for the same word.
        `"word_mask"`: `True` for each word. It is not called `"mask"`, because AllenNLP allows only
        one `"mask"` in a text field, which another indexer may have.
        """
        return {
            "vectors": list(map(self._model.get_word_vector, words)),
            "word_mask": [True] * len(words),
        }

    def get_empty_token_list(self) -> IndexedTokenList:
        return {"vectors": [], "word_mask": []}

    def as_padded_batch(
        self, sentences: Sequence[IndexedTokenList], padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        `"vectors"`: shape `(batch_size, length, dim)`, `float32`, zero where padded. `"word_mask"`:
        shape `(batch_size, length)`, `bool`.
        """
        length = padding_lengths["vectors"]
        padding = [numpy.zeros(self._model.dim, dtype=numpy.float32)] * length
        rows: List[numpy.ndarray] = []
        for sentence in sentences:
            rows += sentence["vectors"][:length]
            rows += padding[len(sentence["vectors"]) :]
        vectors = _empty(len(sentences), length, self._model.dim)
        if rows:
            numpy.concatenate(rows, out=vectors.view(-1).numpy())
        num_words = numpy.array([len(sentence["vectors"]) for sentence in sentences])
        word_mask = numpy.arange(length) < num_words[:, None]
        return {"vectors": vectors, "word_mask": torch.from_numpy(word_mask)}


def _empty(*shape: int) -> torch.Tensor:
    tensor = torch.empty(0)
    num_bytes = tensor.element_size() * math.prod(shape)
    # The workers of a data loader are daemons and pass tensors through shared memory. Creating them
    # there avoids a copy, as in PyTorch's own collation.
    is_in_worker = multiprocessing.current_process().daemon
    # PyTorch 1.12 lacks this method.
    if num_bytes and is_in_worker and hasattr(tensor, "untyped_storage"):
        tensor.set_(tensor.untyped_storage()._new_shared(num_bytes))
    return tensor.resize_(shape)
