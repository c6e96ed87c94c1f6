from typing import Dict, List, Sequence

import torch
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary

__all__ = ["WordIndexer"]


class WordIndexer(TokenIndexer):
    """
    A `TokenIndexer` that indexes strings and pads a whole batch at once, so that `SentenceField`
    needs neither `Token`s nor tensors of single sentences.

    Subclasses implement `words_to_indices` and `as_padded_batch` in place of `tokens_to_indices`
    and `as_padded_tensor_dict`.
    """

    def words_to_indices(self, words: List[str]) -> IndexedTokenList:
        """`tokens_to_indices` for words."""
        raise NotImplementedError

    def as_padded_batch(
        self, sentences: Sequence[IndexedTokenList], padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """`as_padded_tensor_dict` of each sentence, stacked along a new first dimension."""
        raise NotImplementedError

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        return self.words_to_indices([token.ensure_text() for token in tokens])

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        batch = self.as_padded_batch([tokens], padding_lengths)
        return {name: tensor[0] for name, tensor in batch.items()}
