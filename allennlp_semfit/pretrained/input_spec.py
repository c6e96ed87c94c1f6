"""How a trained language model reads its words, as its configuration says."""

import copy
import os
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Mapping, Optional, TypeVar, Union

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, TokenIndexer, Tokenizer

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.data.dataset_readers.language_modeling import LanguageModelingReader

__all__ = ["InputSpec", "strip_prefix"]

T = TypeVar("T")


class InputSpec:
    """
    What a language model reads its words with. Nothing is opened before it is asked for.

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        What errors call the language model.
    params : `Params`
        The language model's configuration. It is not changed.

    # Raises

    `ConfigurationError`
        If the language model has none or several indexers whose embedder is not `empty`.
    """

    def __init__(self, archive_file: Union[str, os.PathLike], params: Params) -> None:
        self._archive_file = archive_file
        reader_params = params["dataset_reader"].duplicate()
        self._tokenizer_params = reader_params.pop("tokenizer", None)
        indexers = reader_params.pop("token_indexers", None) or {"tokens": Params({})}
        embedders = params["model"].get("text_field_embedder", {}).get("token_embedders", {})
        names = [name for name in indexers if _type_of(embedders.get(name)) != "empty"]
        if len(names) != 1:
            raise ConfigurationError(
                f"The language model {archive_file} reads its words with the indexers {names}; to "
                "serve as an embedder it must have exactly one whose embedder is not `empty`."
            )
        self.name: str = names[0]
        self._indexer_params = indexers[self.name]
        # With neither of the two it opens no file.
        reader = DatasetReader.from_params(reader_params)
        assert isinstance(reader, LanguageModelingReader)
        self.start_tokens = reader.start_tokens
        self.end_tokens = reader.end_tokens

    @property
    def is_subword(self) -> bool:
        """Whether the language model reads subwords."""
        if self._tokenizer_params is None:
            return False
        name = _type_of(self._tokenizer_params) or Tokenizer.default_implementation
        tokenizer_class, _ = Tokenizer.resolve_class_name(name)
        return hasattr(tokenizer_class, "intra_word_tokenize")

    @property
    def tensor_prefix(self) -> str:
        """
        What the `elmo_semfit` indexer puts before the names of the tensors of the language model's
        indexer. AllenNLP takes any `tokens` for indices of the task's words, and `offsets` and
        `mask` for its own. What represents words without a vocabulary, under names that AllenNLP
        gives no meaning, keeps them, so that its indexer goes with the embedder too.
        """
        keeps_names = _type_of(self._indexer_params) in ("fasttext", "elmo_characters")
        return "" if keeps_names and not self.is_subword else "lm_"

    def open_indexer(self, fasttext_model_path: Optional[str] = None) -> TokenIndexer:
        """
        # Parameters

        fasttext_model_path : `str`, optional (default = `None`)
            The language model's fastText file, if it is no longer where it was in training.

        # Returns

        `TokenIndexer`
            The language model's own indexer of what it reads.

        # Raises

        `InvalidFileError`
            If the file is missing or no fastText model; its `parameter` is `fasttext_model_path`.
        `ConfigurationError`
            If a file is given, and the language model reads none.
        """
        reads_file = _type_of(self._indexer_params) == "fasttext"
        params = self._with_path(
            self._indexer_params, reads_file, "fasttext_model_path", fasttext_model_path
        )
        with self._naming("fasttext_model_path"):
            return TokenIndexer.from_params(params)

    def open_tokenizer(self, tokenizer_path: Optional[str] = None) -> Optional[Tokenizer]:
        """
        # Parameters

        tokenizer_path : `str`, optional (default = `None`)
            The file of a subword model's tokenizer, if it is no longer where it was in training.

        # Returns

        `Optional[Tokenizer]`
            What cuts the words into subwords, with `intra_word_tokenize`; `None` where the language
            model reads words.

        # Raises

        `InvalidFileError`
            If the file is missing or no tokenizer; its `parameter` is `tokenizer_path`.
        `ConfigurationError`
            If a file is given, and the language model reads none.
        """
        params = self._with_path(
            self._tokenizer_params, self.is_subword, "tokenizer_path", tokenizer_path
        )
        if not self.is_subword:
            return None
        with self._naming("tokenizer_path"):
            return Tokenizer.from_params(params)

    def _with_path(self, params: Any, reads_file: bool, parameter: str, path: Optional[str]) -> Any:
        """A copy of `params`, with `path`, if it is given, for the file."""
        if path is None:
            return copy.deepcopy(params)
        if not reads_file:
            raise ConfigurationError(
                f"`{parameter}` is {path}, but the language model {self._archive_file} reads no "
                "such file. Leave it out."
            )
        return Params({**params.as_dict(quiet=True), "model_path": path})

    @contextmanager
    def _naming(self, parameter: str) -> Iterator[None]:
        try:
            yield
        except InvalidFileError as error:
            error.remedy += (
                f" The language model {self._archive_file} reads its words with it: give the file "
                f"that it was trained with as `{parameter}`."
            )
            error.parameter = parameter
            # It is that of the language model's configuration, which is not the user's.
            error.key = None
            raise


def strip_prefix(values: Mapping[str, T], prefix: str) -> Dict[str, T]:
    """Those whose names begin with the prefix, by their names without it."""
    return {name[len(prefix) :]: value for name, value in values.items() if name.startswith(prefix)}


def _type_of(params: Union[Params, str, None]) -> Optional[str]:
    # For `{"type": "empty"}`, a configuration may say "empty".
    return params.get("type") if isinstance(params, Params) else params
