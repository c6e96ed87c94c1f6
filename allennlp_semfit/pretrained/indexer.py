import os
from typing import Any, Dict, List, Mapping, Optional, TypeVar, Union

import torch
from allennlp.common import Params
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary

from allennlp_semfit.common.errors import with_config_key
from allennlp_semfit.pretrained.archive import load_config, load_vocabulary
from allennlp_semfit.pretrained.input_spec import InputSpec, strip_prefix

__all__ = ["ElmoSemfitIndexer"]

T = TypeVar("T")


@TokenIndexer.register("elmo_semfit")
class ElmoSemfitIndexer(TokenIndexer):
    """
    Indexes a task's words as a trained `bidirectional_lm` reads them: with the language model's own
    indexer and its own vocabulary, whatever the task's is, and cut into subwords if it is a subword
    model. It goes with the `elmo_semfit` embedder of the same `archive_file`.

    The words are taken as the task has them: they should be tokenised as the language model's text
    was.

    Of the archive it takes the configuration and the vocabulary. The weights are not held, but
    decompressed on the way, about 50 MB a second; the directory of the training spares that. What
    the language model reads beside the archive, a fastText `.bin` or a `tokenizer.json`, it wants
    where it was in training.

    Registered as a `TokenIndexer` with name "elmo_semfit".

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, or the directory of its training.
    fasttext_model_path : `str`, optional (default = `None`)
        The language model's fastText file, if it is no longer where its archive says.
    tokenizer_path : `str`, optional (default = `None`)
        The tokenizer of a subword model, if it is no longer where its archive says.

    # Raises

    `InvalidFileError`
        If `archive_file` is missing, no archive or that of another model, or if the file that the
        language model reads is missing.
    `ConfigurationError`
        If a path is given for a file that the language model does not read; or if it has none or
        several indexers whose embedder is not `empty`.

    # Example

    ```json
    "token_indexers": {"elmo": {"type": "elmo_semfit", "archive_file": "model.tar.gz"}}
    ```
    """

    def __init__(
        self,
        archive_file: Union[str, os.PathLike],
        fasttext_model_path: Optional[str] = None,
        tokenizer_path: Optional[str] = None,
    ) -> None:
        super().__init__()
        model_input = InputSpec(archive_file, load_config(str(archive_file)))
        self._indexer = model_input.open_indexer(fasttext_model_path)
        # Any: that it has `intra_word_tokenize` is why it is there.
        self._tokenizer: Any = model_input.open_tokenizer(tokenizer_path)
        self._prefix = model_input.tensor_prefix
        # What has no prefix looks nothing up in it, and the vocabulary of a softmax may be large.
        self._vocab = load_vocabulary(str(archive_file)) if self._prefix else Vocabulary.empty()

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoSemfitIndexer":
        with with_config_key(params, "archive_file"):
            return super().from_params(params, *args, **extras)

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        # The vocabulary is there, and is not the task's.
        pass

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        """
        # Parameters

        tokens : `List[Token]`
            Words, without boundaries.
        vocabulary : `Vocabulary`
            The task's, which is not asked.

        # Returns

        `IndexedTokenList`
            What the language model's indexer gives for the words: `"vectors"` and `"word_mask"` of
            `fasttext`, `"elmo_tokens"` of `elmo_characters`. Of any other indexer the names begin
            with `lm_`, because AllenNLP gives some of them a meaning: `"lm_tokens"` of `single_id`.

            For a subword model, `"word_mask"`: `True` for each word; `"subword_spans"`: for each
            word, its first and its last subword; and then what the language model's indexer gives
            for the subwords, as `lm_…`.
        """
        if self._tokenizer is None:
            return self._with_prefix(self._indexer.tokens_to_indices(tokens, self._vocab))
        subwords, spans = self._tokenizer.intra_word_tokenize(
            [token.ensure_text() for token in tokens]
        )
        # AllenNLP takes the mask of a text field from the first of those with the fewest
        # dimensions. It is not called "mask", of which a text field may have one.
        return {
            "word_mask": [True] * len(tokens),
            "subword_spans": spans,
            **self._with_prefix(self._indexer.tokens_to_indices(subwords, self._vocab)),
        }

    def get_empty_token_list(self) -> IndexedTokenList:
        empty = self._with_prefix(self._indexer.get_empty_token_list())
        return empty if self._tokenizer is None else {"word_mask": [], "subword_spans": [], **empty}

    def get_padding_lengths(self, indexed_tokens: IndexedTokenList) -> Dict[str, int]:
        lengths = self._with_prefix(
            self._indexer.get_padding_lengths(strip_prefix(indexed_tokens, self._prefix))
        )
        if self._tokenizer is not None:
            lengths["word_mask"] = len(indexed_tokens["word_mask"])
        return lengths

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        # Returns

        `Dict[str, torch.Tensor]`
            The tensors of the language model's indexer; their first dimension is that of words.

            For a subword model, it is that of subwords, and before them come `"word_mask"`, shape
            `(num_words,)`, `bool`; and `"subword_spans"`, shape `(num_words, 2)`, zero where
            padded.
        """
        tensors = self._with_prefix(
            self._indexer.as_padded_tensor_dict(
                strip_prefix(tokens, self._prefix), strip_prefix(padding_lengths, self._prefix)
            )
        )
        if self._tokenizer is None:
            return tensors
        length = padding_lengths["word_mask"]
        spans = torch.zeros(length, 2, dtype=torch.long)
        words = torch.tensor(tokens["subword_spans"][:length], dtype=torch.long).view(-1, 2)
        spans[: len(words)] = words
        return {"word_mask": torch.arange(length) < len(words), "subword_spans": spans, **tensors}

    def _with_prefix(self, of_indexer: Mapping[str, T]) -> Dict[str, T]:
        return {self._prefix + name: value for name, value in of_indexer.items()}
