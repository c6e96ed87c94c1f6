import gc
import os
from typing import Any, Dict, List, Sequence, Union
from weakref import WeakValueDictionary

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.token_indexers import TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary

from allennlp_semfit.archives.language_model_archive import (
    SUBWORD_SPANS,
    WORD_MASK,
    LanguageModelArchive,
    add_prefix,
    remove_prefix,
)
from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.errors import InvalidFileError

_INDEXERS = "dataset_reader.token_indexers."
_EMBEDDERS = "model.text_field_embedder.token_embedders."

# The indexers that this process has built from a config, by `id`.
_built: "WeakValueDictionary[int, ElmoSemfitIndexer]" = WeakValueDictionary()


@TokenIndexer.register("elmo_semfit")
class ElmoSemfitIndexer(TokenIndexer, NamesConfigKey):
    """
    Indexes words for the `elmo_semfit` embedder with the same `archive_file`: with the indexer, the
    vocabulary and, for a subword model, the subwords of the trained language model. The words
    should be tokenized like the text that the language model was trained on.

    The weights are decompressed with the archive, at about 50 MB per second, and stay in memory
    until the embedder is built; a serialization directory or exported folder avoids both. Unless it
    is exported, the language model's fastText `.bin`, `tokenizer.json`, or table and MIMICK archive
    must still be where they were in training.

    Registered as a `TokenIndexer` with name "elmo_semfit".

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, serialization directory or exported folder.

    # Raises

    `InvalidFileError`
        If `archive_file` is missing or is not the archive of a language model, or if a file of
        the language model is missing.
    `ConfigurationError`
        If the language model does not have exactly one indexer whose embedder is not `empty`.

    # Example

    ```json
    "token_indexers": {"elmo": {"type": "elmo_semfit", "archive_file": "model.tar.gz"}}
    ```
    """

    file_parameter = "archive_file"

    def __init__(self, archive_file: Union[str, os.PathLike]) -> None:
        super().__init__()
        archive = LanguageModelArchive.open(archive_file)
        self.archive_file = archive.file
        self.archive_identity = archive.identity
        self.config_key = ""
        self._indexer = archive.open_indexer()
        # `Any`, because `Tokenizer` does not declare `intra_word_tokenize`.
        self._tokenizer: Any = archive.open_tokenizer()
        self._prefix = archive.prefix
        # An indexer without a prefix needs no vocabulary, which may be large in each worker.
        self._vocab = archive.vocabulary if self._prefix else Vocabulary.empty()

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoSemfitIndexer":
        key = params.history
        try:
            indexer = super().from_params(params, *args, **extras)
        except InvalidFileError as error:
            error.other_keys = _keys_of_same_file(error.key or "")
            raise
        indexer.config_key = key
        _built[id(indexer)] = indexer
        return indexer

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        # The language model has a vocabulary of its own.
        pass

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        """
        # Parameters

        tokens : `List[Token]`
            Words, without boundary tokens.
        vocabulary : `Vocabulary`
            The task's vocabulary, which is not used.

        # Returns

        `IndexedTokenList`
            The output of the language model's indexer: `"vectors"` and `"word_mask"` of `fasttext`
            and `mimick`, `"elmo_tokens"` of `elmo_characters`. The names of other indexers get the
            prefix `lm_`, because AllenNLP interprets some of them: `"lm_tokens"` of `single_id`.

            For a subword model, `"word_mask"`, `True` for each word; `"subword_spans"`, the first
            and last subword of each word; and the output for the subwords, with the prefix `lm_`.
        """
        if self._tokenizer is None:
            return add_prefix(self._prefix, self._indexer.tokens_to_indices(tokens, self._vocab))
        subwords, spans = self._tokenizer.intra_word_tokenize(
            [token.ensure_text() for token in tokens]
        )
        indexed = add_prefix(self._prefix, self._indexer.tokens_to_indices(subwords, self._vocab))
        return {WORD_MASK: [True] * len(tokens), SUBWORD_SPANS: spans, **indexed}

    def get_empty_token_list(self) -> IndexedTokenList:
        empty = add_prefix(self._prefix, self._indexer.get_empty_token_list())
        return empty if self._tokenizer is None else {WORD_MASK: [], SUBWORD_SPANS: [], **empty}

    def get_padding_lengths(self, indexed_tokens: IndexedTokenList) -> Dict[str, int]:
        indexed = remove_prefix(self._prefix, indexed_tokens)
        lengths = add_prefix(self._prefix, self._indexer.get_padding_lengths(indexed))
        if self._tokenizer is not None:
            lengths[WORD_MASK] = lengths[SUBWORD_SPANS] = len(indexed_tokens[WORD_MASK])
        return lengths

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        # Returns

        `Dict[str, torch.Tensor]`
            The tensors of the language model's indexer, with words as the first dimension. For a
            subword model, it is subwords, and there are `"word_mask"`, shape `(num_words,)`, and
            `"subword_spans"`, shape `(num_words, 2)`, zero where padded.
        """
        tensors = add_prefix(
            self._prefix,
            self._indexer.as_padded_tensor_dict(
                remove_prefix(self._prefix, tokens), remove_prefix(self._prefix, padding_lengths)
            ),
        )
        if self._tokenizer is None:
            return tensors
        length = padding_lengths[WORD_MASK]
        words = torch.tensor(tokens[SUBWORD_SPANS][:length], dtype=torch.long).view(-1, 2)
        spans = torch.zeros(length, 2, dtype=torch.long)
        spans[: len(words)] = words
        return {WORD_MASK: torch.arange(length) < len(words), SUBWORD_SPANS: spans, **tensors}


def _keys_of_same_file(key: str) -> Sequence[str]:
    """The other keys that name the file of an indexer's key in the usual place."""
    if _INDEXERS not in key:
        return ()
    rest = key.partition(_INDEXERS)[2]
    return [other for other in (_INDEXERS + rest, _EMBEDDERS + rest) if other != key]


def check_indexer(embedder_key: str, archive_file: str, identity: Any) -> None:
    """
    Compares an embedder's language model with those of the `elmo_semfit` indexers of the same name,
    which AllenNLP builds before the embedder.

    # Parameters

    embedder_key : `str`
        The embedder's place in the configuration, with a full stop at the end.
    archive_file : `str`
    identity : `Any`
        That of the embedder's `LanguageModelArchive`.

    # Raises

    `ConfigurationError`
        If there are such indexers, and none has the same language model.
    """
    indexers = _indexers_of(_name_in(embedder_key))
    if not indexers or indexers[-1].archive_identity == identity:
        return
    # Forget the indexers of earlier tasks in this process.
    del indexers
    gc.collect()
    indexers = _indexers_of(_name_in(embedder_key))
    if indexers and all(each.archive_identity != identity for each in indexers):
        raise ConfigurationError(
            f"`{indexers[-1].config_key}archive_file` is {indexers[-1].archive_file}, but "
            f"`{embedder_key}archive_file` is {archive_file}. Give both the same language model; "
            "in Python, build a task's dataset reader before its model."
        )


def _indexers_of(name: str) -> List[ElmoSemfitIndexer]:
    return [each for each in _built.values() if name and _name_in(each.config_key) == name]


def _name_in(key: str) -> str:
    """The name of an indexer or embedder; empty if its place is unknown."""
    return key.rstrip(".").rpartition(".")[2]
