import math
import multiprocessing
import unicodedata
from typing import Any, Dict, List, Sequence

import numpy
import torch
from allennlp.common import Params
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary

from allennlp_semfit.common.errors import with_config_key
from allennlp_semfit.fasttext.model import FastTextModel

__all__ = ["FastTextIndexer", "WordVectorIndexer"]


class WordVectorIndexer(TokenIndexer):
    """
    Looks up the vector of each token while the data is read, so that the model needs neither a
    table of vectors nor a vocabulary. It indexes strings and pads a whole batch at once, so that
    `SentenceField` needs neither `Token`s nor tensors of single sentences.

    Subclasses implement `embedding_dim`, `path` and `get_word_vectors`.
    """

    @property
    def embedding_dim(self) -> int:
        """The dimension of the vectors."""
        raise NotImplementedError

    @property
    def path(self) -> str:
        """The file that has the vectors."""
        raise NotImplementedError

    def get_word_vectors(self, words: List[str]) -> List[numpy.ndarray]:
        """An array of shape `(dim,)`, `float32`, for each word."""
        raise NotImplementedError

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        # Every word has a vector, so there is nothing to count.
        pass

    def words_to_indices(self, words: List[str]) -> IndexedTokenList:
        """
        `"vectors"`: an array of shape `(dim,)` for each word. `"word_mask"`: `True` for each word.
        It is not called `"mask"`, because AllenNLP allows only one `"mask"` in a text field, which
        another indexer may have.
        """
        return {"vectors": self.get_word_vectors(words), "word_mask": [True] * len(words)}

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        return self.words_to_indices([token.ensure_text() for token in tokens])

    def get_empty_token_list(self) -> IndexedTokenList:
        return {"vectors": [], "word_mask": []}

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        batch = self.as_padded_batch([tokens], padding_lengths)
        return {name: tensor[0] for name, tensor in batch.items()}

    def as_padded_batch(
        self, sentences: Sequence[IndexedTokenList], padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        The tensors of each sentence, stacked along a new first dimension. `"vectors"`: shape
        `(batch_size, length, dim)`, `float32`, zero where padded. `"word_mask"`:
        shape `(batch_size, length)`, `bool`.
        """
        length = padding_lengths["vectors"]
        padding = [numpy.zeros(self.embedding_dim, dtype=numpy.float32)] * length
        rows: List[numpy.ndarray] = []
        for sentence in sentences:
            rows += sentence["vectors"][:length]
            rows += padding[len(sentence["vectors"]) :]
        vectors = _empty(len(sentences), length, self.embedding_dim)
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
    if num_bytes and is_in_worker:
        tensor.set_(tensor.untyped_storage()._new_shared(num_bytes))
    return tensor.resize_(shape)


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
