import json
import os
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.token_indexers import ELMoTokenCharactersIndexer, TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary

from allennlp_semfit.common.errors import InvalidFileError, with_config_key
from allennlp_semfit.data.token_indexers.fasttext_indexer import FastTextIndexer
from allennlp_semfit.pretrained.archive import load_config, load_vocabulary
from allennlp_semfit.pretrained.input_spec import (
    InputFileError,
    InputSpec,
)

__all__ = ["ElmoSemfitIndexer"]


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
        # These two look nothing up in it, and the vocabulary of a softmax may be large.
        if isinstance(self._indexer, (FastTextIndexer, ELMoTokenCharactersIndexer)):
            self._vocab = Vocabulary.empty()
        else:
            self._vocab = load_vocabulary(str(archive_file))
        names = set(self._indexer.get_empty_token_list())
        if self._tokenizer is not None and names & {"word_mask", "offsets"}:
            raise ConfigurationError(
                f"The language model {archive_file} reads subwords with an indexer that "
                f"gives {sorted(names)}; `word_mask` and `offsets` must be those of the words. It "
                "cannot serve as an embedder."
            )

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoSemfitIndexer":
        try:
            return super().from_params(params, *args, **extras)
        except InputFileError as error:
            # The task's configuration has no such key as long as the file is in its place.
            override = json.dumps({params.history + error.parameter: "/path/to/it"})
            raise InvalidFileError(
                f"{error} For an archive of a task too, -o '{override}' does that, along with what "
                "else is overridden."
            ) from None
        except InvalidFileError as error:
            with with_config_key(params, "archive_file"):
                raise error

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
            `fasttext`, `"elmo_tokens"` of `elmo_characters`, `"tokens"` of `single_id`.

            For a subword model, `"word_mask"`: `True` for each word; `"offsets"`: for each word,
            its first and its last subword; and then what the language model's indexer gives for the
            subwords.
        """
        if self._tokenizer is None:
            return self._indexer.tokens_to_indices(tokens, self._vocab)
        subwords, offsets = self._tokenizer.intra_word_tokenize(
            [token.ensure_text() for token in tokens]
        )
        # AllenNLP takes the mask of a text field from the first of those with the fewest
        # dimensions. It is not called "mask", of which a text field may have one.
        return {
            "word_mask": [True] * len(tokens),
            "offsets": offsets,
            **self._indexer.tokens_to_indices(subwords, self._vocab),
        }

    def get_empty_token_list(self) -> IndexedTokenList:
        empty = self._indexer.get_empty_token_list()
        return empty if self._tokenizer is None else {"word_mask": [], "offsets": [], **empty}

    def get_padding_lengths(self, indexed_tokens: IndexedTokenList) -> Dict[str, int]:
        of_words, of_subwords = self._divide(indexed_tokens)
        return {
            **{name: len(values) for name, values in of_words.items()},
            **self._indexer.get_padding_lengths(of_subwords),
        }

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        # Returns

        `Dict[str, torch.Tensor]`
            The tensors of the language model's indexer; their first dimension is that of words.

            For a subword model, it is that of subwords, and before them come `"word_mask"`, shape
            `(num_words,)`, `bool`; and `"offsets"`, shape `(num_words, 2)`, zero where padded.
        """
        of_words, of_subwords = self._divide(tokens)
        tensors = self._indexer.as_padded_tensor_dict(of_subwords, padding_lengths)
        if self._tokenizer is None:
            return tensors
        length = padding_lengths["word_mask"]
        offsets = torch.zeros(length, 2, dtype=torch.long)
        words = torch.tensor(of_words["offsets"][:length], dtype=torch.long).view(-1, 2)
        offsets[: len(words)] = words
        return {"word_mask": torch.arange(length) < len(words), "offsets": offsets, **tensors}

    def _divide(self, tokens: IndexedTokenList) -> Tuple[IndexedTokenList, IndexedTokenList]:
        """What there is of words beside subwords, and what the language model's indexer gave."""
        own = () if self._tokenizer is None else ("word_mask", "offsets")
        return (
            {name: tokens[name] for name in own},
            {name: values for name, values in tokens.items() if name not in own},
        )
