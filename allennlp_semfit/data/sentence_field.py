from typing import Any, Dict, List, Optional, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.data.fields import TextField
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary
from allennlp.nn.util import batch_tensor_dicts

from allennlp_semfit.data.fasttext_indexer import WordVectorIndexer


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
        if self._indexed_tokens is None:
            raise ConfigurationError("SentenceField: call `index` before `as_tensor`.")
        lengths: Dict[str, Dict[str, int]] = {name: {} for name in self.token_indexers}
        for key, length in padding_lengths.items():
            name, padding_key = key.split("___")
            lengths[name][padding_key] = length
        return {name: (self._indexed_tokens[name], lengths[name]) for name in lengths}

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

    def empty_field(self) -> "SentenceField":
        field = SentenceField([], self._token_indexers)
        field._indexed_tokens = {
            name: indexer.get_empty_token_list() for name, indexer in self.token_indexers.items()
        }
        return field

    def sequence_length(self) -> int:
        return len(self.words)

    def __len__(self) -> int:
        return len(self.words)

    # Without these, pickling would read `tokens` and fail to set them.
    def __getstate__(self) -> Tuple[Any, ...]:
        return self.words, self._token_indexers, self._indexed_tokens

    def __setstate__(self, state: Tuple[Any, ...]) -> None:
        self.words, self._token_indexers, self._indexed_tokens = state
