import math
import multiprocessing
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy
import torch
from allennlp.data.fields import TextField
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary
from allennlp.nn.util import batch_tensor_dicts

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.fasttext.compact import open_fasttext


class WordVectorIndexer(TokenIndexer, NamesConfigKey):
    """
    A base class for indexers that look up the vector of each token while the data is read.
    `vectors` has the `dim` of the vectors, the `path` of their file, and `get_word_vectors(words)`,
    which returns an array of shape `(dim,)`, `float32`, for each word.
    """

    def __init__(self, vectors: Any, token_min_padding_length: int) -> None:
        super().__init__(token_min_padding_length)
        self.vectors = vectors

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        # Every word has a vector, so there is nothing to count.
        pass

    def words_to_indices(self, words: List[str]) -> IndexedTokenList:
        """
        `"vectors"`: the words themselves, so that `as_padded_batch` can look up each word of a
        batch once. `"word_mask"`: `True` for each word. AllenNLP allows only one `"mask"` in a text
        field, which another indexer may need.
        """
        return {"vectors": words, "word_mask": [True] * len(words)}

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        return self.words_to_indices([token.ensure_text() for token in tokens])

    def get_empty_token_list(self) -> IndexedTokenList:
        return {"vectors": [], "word_mask": []}

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        `"vectors"`: shape `(length, dim)`, `float32`, zero where padded. `"word_mask"`: shape
        `(length,)`, `bool`.
        """
        batch = self.as_padded_batch([tokens], padding_lengths)
        return {
            "vectors": batch["vectors"][batch["indices"][0]],
            "word_mask": batch["indices"][0] != 0,
        }

    def as_padded_batch(
        self, sentences: Sequence[IndexedTokenList], padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        The tensors of a batch, with each vector once: a text of 15,000 words contains about 3,500
        distinct words.

        `"indices"`: shape `(batch_size, length)`, the row of each word in `"vectors"`; 0 where
        padded, so that it also serves as the mask. `"vectors"`: shape `(num_vectors + 1, dim)`,
        `float32`, the first row zero.
        """
        length = padding_lengths["vectors"]
        words: List[str] = []
        for sentence in sentences:
            words += sentence["vectors"][:length]
        distinct = list(dict.fromkeys(words))
        rows = dict(zip(distinct, range(1, len(distinct) + 1)))
        table = _empty(len(distinct) + 1, self.vectors.dim)
        table[0] = 0
        if distinct:
            vectors = self.vectors.get_word_vectors(distinct)
            numpy.concatenate(vectors, out=table[1:].view(-1).numpy())
        num_words = numpy.array([len(sentence["vectors"]) for sentence in sentences])
        indices = numpy.zeros((len(sentences), length), dtype=numpy.int64)
        indices[numpy.arange(length) < num_words[:, None]] = list(map(rows.__getitem__, words))
        # `indices` first: AllenNLP's `get_text_field_mask` takes the first matrix.
        return {"indices": torch.from_numpy(indices), "vectors": table}


def _empty(*shape: int) -> torch.Tensor:
    tensor = torch.empty(0)
    # The workers of a data loader are daemons and pass tensors through shared memory. Creating them
    # there avoids a copy, as in PyTorch's own collation.
    if multiprocessing.current_process().daemon:
        num_bytes = tensor.element_size() * math.prod(shape)
        tensor.set_(tensor.untyped_storage()._new_shared(num_bytes))
    return tensor.resize_(shape)


class SentenceField(TextField):
    """
    A `TextField` that stores strings instead of `Token`s, because creating, checking and garbage
    collecting `Token`s takes much of the time of reading a corpus. A `WordVectorIndexer`, such as
    `fasttext`, indexes the strings directly and pads the whole batch at once, with each vector once
    per batch. Any other indexer gets new `Token`s. The batches are equivalent to those of
    `TextField`.
    """

    __slots__ = ["words"]

    def __init__(
        self, words: List[str], token_indexers: Optional[Dict[str, TokenIndexer]] = None
    ) -> None:
        # Do not call `TextField.__init__`, which checks every token.
        self.words = words
        self._token_indexers = token_indexers
        self._indexed_tokens = None

    @property
    def tokens(self) -> List[Token]:  # type: ignore[override]
        """New `Token`s for the words; changing them does not change the field."""
        return [Token(word) for word in self.words]

    def index(self, vocab: Vocabulary) -> None:
        self._indexed_tokens = {
            name: (
                indexer.words_to_indices(self.words)
                if isinstance(indexer, WordVectorIndexer)
                else indexer.tokens_to_indices(self.tokens, vocab)
            )
            for name, indexer in self.token_indexers.items()
        }

    def as_tensor(self, padding_lengths: Dict[str, int]) -> Dict[str, Any]:
        """Returns the indexed words and padding lengths of each indexer for `batch_tensors`."""
        lengths: Dict[str, Dict[str, int]] = {name: {} for name in self.token_indexers}
        for key, length in padding_lengths.items():
            name, padding_key = key.split("___")
            lengths[name][padding_key] = length
        indexed: Any = self._indexed_tokens
        return {name: (indexed[name], lengths[name]) for name in lengths}

    def batch_tensors(self, tensor_list: List[Dict[str, Any]]) -> TextFieldTensors:
        batch = {}
        for name, indexer in self.token_indexers.items():
            sentences, lengths = zip(*(output[name] for output in tensor_list))
            if isinstance(indexer, WordVectorIndexer):
                batch[name] = indexer.as_padded_batch(sentences, lengths[0])
            else:
                padded = map(indexer.as_padded_tensor_dict, sentences, lengths)
                batch[name] = batch_tensor_dicts(list(padded))
        return batch

    def __len__(self) -> int:
        return len(self.words)

    # Without these, pickling would read `tokens` and fail to set them.
    def __getstate__(self) -> Tuple[Any, ...]:
        return self.words, self._token_indexers, self._indexed_tokens

    def __setstate__(self, state: Tuple[Any, ...]) -> None:
        self.words, self._token_indexers, self._indexed_tokens = state


@TokenIndexer.register("fasttext")
class FastTextIndexer(WordVectorIndexer):
    """
    Looks up the fastText vector of each token while the data is read, so that the model needs
    neither a table of vectors nor a vocabulary. Use it with `"vocabulary": {"type": "empty"}` and
    the `fasttext` embedder.

    A word that is not in fastText's dictionary is looked up in Unicode's normalization form C,
    which `allennlp prepare-corpus` writes.

    Registered as a `TokenIndexer` with name "fasttext".

    # Parameters

    model_path : `str`
        An unsupervised fastText `.bin`, or the small file of `allennlp export-model --compact`. It
        is opened once per process and read on demand.
    token_min_padding_length : `int`, optional (default = `0`)
        See `TokenIndexer`.

    # Raises

    `ConfigurationError`
        If the file is missing, compressed, truncated, supervised or not a fastText model.

    # Example

    ```json
    "token_indexers": {"fasttext": {"type": "fasttext", "model_path": "vectors.bin"}}
    ```
    """

    def __init__(self, model_path: str, token_min_padding_length: int = 0) -> None:
        super().__init__(open_fasttext(model_path), token_min_padding_length)
