from copy import deepcopy
from typing import Any, Dict, List, Optional, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.data.fields import TextField
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary
from allennlp.nn.util import batch_tensor_dicts

from allennlp_semfit.data.token_indexers.word_indexer import WordIndexer

__all__ = ["SentenceField"]


class SentenceField(TextField):
    """
    A `TextField` that holds words and not `Token`s: to make, check and collect these takes much of
    the time of reading a corpus. Any indexer goes with it. A `WordIndexer`, such as `fasttext`,
    gets the words as they are, and pads the whole batch at once; any other gets new `Token`s. The
    batch is the one that `TextField`s would give.
    """

    __slots__ = ["words"]

    def __init__(
        self, words: List[str], token_indexers: Optional[Dict[str, TokenIndexer]] = None
    ) -> None:
        # Not `TextField`'s, which looks at every token.
        self.words = words
        self._token_indexers = token_indexers
        self._indexed_tokens = None

    @property
    def tokens(self) -> List[Token]:  # type: ignore[override]
        """The words, as new `Token`s each time: to change one changes nothing here."""
        return [Token(word) for word in self.words]

    def index(self, vocab: Vocabulary) -> None:
        self._indexed_tokens = {
            name: (
                indexer.words_to_indices(self.words)
                if isinstance(indexer, WordIndexer)
                else indexer.tokens_to_indices(self.tokens, vocab)
            )
            for name, indexer in self.token_indexers.items()
        }

    def as_tensor(self, padding_lengths: Dict[str, int]) -> Dict[str, Any]:
        """
        What `batch_tensors` takes: for a `WordIndexer` the indexed words and the lengths to pad
        them to, for any other indexer its tensors.
        """
        if self._indexed_tokens is None:
            raise ConfigurationError("SentenceField: `index` comes before `as_tensor`.")
        lengths: Dict[str, Dict[str, int]] = {name: {} for name in self.token_indexers}
        for key, length in padding_lengths.items():
            name, padding_key = key.split("___")
            lengths[name][padding_key] = length
        return {
            name: (
                (self._indexed_tokens[name], lengths[name])
                if isinstance(indexer, WordIndexer)
                else indexer.as_padded_tensor_dict(self._indexed_tokens[name], lengths[name])
            )
            for name, indexer in self.token_indexers.items()
        }

    def batch_tensors(self, tensor_list: List[Dict[str, Any]]) -> TextFieldTensors:
        batch = {}
        for name, indexer in self.token_indexers.items():
            outputs = [output[name] for output in tensor_list]
            if isinstance(indexer, WordIndexer):
                sentences, lengths = zip(*outputs)
                batch[name] = indexer.as_padded_batch(sentences, lengths[0])
            else:
                batch[name] = batch_tensor_dicts(outputs)
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

    def duplicate(self) -> "SentenceField":
        indexers = self._token_indexers
        new = SentenceField(list(self.words), None if indexers is None else dict(indexers))
        new._indexed_tokens = deepcopy(self._indexed_tokens)
        return new

    # Pickling would otherwise ask for `tokens`, and fail to set them.
    def __getstate__(self) -> Tuple[Any, ...]:
        return self.words, self._token_indexers, self._indexed_tokens

    def __setstate__(self, state: Tuple[Any, ...]) -> None:
        self.words, self._token_indexers, self._indexed_tokens = state
