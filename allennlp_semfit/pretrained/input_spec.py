"""The input of a trained language model, according to its configuration."""

import copy
import os
from contextlib import contextmanager
from typing import Any, ContextManager, Dict, Iterator, Mapping, Optional, TypeVar, Union

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, TokenIndexer, Tokenizer

from allennlp_semfit.archives.safe_archive import building, check_is_registered
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.data.language_modeling import LanguageModelingReader

__all__ = ["InputSpec", "strip_prefix", "type_of"]

T = TypeVar("T")


class InputSpec:
    """
    The indexer, tokenizer and boundary tokens of a language model. Files are opened on demand.

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The name of the language model in error messages.
    params : `Params`
        The language model's configuration. It is not changed.

    # Raises

    `ConfigurationError`
        If the language model does not have exactly one indexer whose embedder is not `empty`.
    """

    def __init__(self, archive_file: Union[str, os.PathLike], params: Params) -> None:
        self._archive_file = archive_file
        with self._building():
            reader_params = params["dataset_reader"].duplicate()
            self._tokenizer_params = reader_params.pop("tokenizer", None)
            indexers = reader_params.pop("token_indexers", None) or {"tokens": Params({})}
            embedder = params["model"].get("text_field_embedder")
            embedders = embedder.get("token_embedders", {}) if isinstance(embedder, Params) else {}
            names = sorted(
                name
                for name, indexer in indexers.items()
                if indexer is not None and type_of(embedders.get(name)) != "empty"
            )
        if len(names) != 1 or (embedders and not embedders.keys() & names):
            raise ConfigurationError(
                f"The language model {archive_file} has the indexers {names}; to be used as an "
                "embedder it must have exactly one, with an embedder that is not `empty`."
            )
        self.name: str = names[0]
        self._indexer_params = indexers[self.name]
        # Without indexers and tokenizer, it opens no file.
        with self._building():
            reader = DatasetReader.from_params(reader_params)
        assert isinstance(reader, LanguageModelingReader)
        self.start_tokens = reader.start_tokens
        self.end_tokens = reader.end_tokens

    @property
    def is_subword(self) -> bool:
        """Whether the language model reads subwords."""
        if self._tokenizer_params is None:
            return False
        name = type_of(self._tokenizer_params) or Tokenizer.default_implementation
        with self._building():
            check_is_registered(Tokenizer, name)
        tokenizer_class, _ = Tokenizer.resolve_class_name(name)
        return hasattr(tokenizer_class, "intra_word_tokenize")

    @property
    def tensor_prefix(self) -> str:
        """
        What the `elmo_semfit` indexer adds to the names of the tensors, because AllenNLP takes
        `tokens` for indices into the task's vocabulary, and interprets `offsets` and `mask`. It is
        empty for indexers without a vocabulary, so that these work with the embedder too.
        """
        keeps_names = type_of(self._indexer_params) in ("fasttext", "mimick", "elmo_characters")
        return "" if keeps_names and not self.is_subword else "lm_"

    def open_indexer(self, fasttext_model_path: Optional[str] = None) -> TokenIndexer:
        """
        Opens the language model's indexer, with `fasttext_model_path` if the file has been moved.

        # Raises

        `InvalidFileError`
            If a file is missing or invalid; a fastText file's `parameter` is `fasttext_model_path`.
        `ConfigurationError`
            If a file is given, but the language model uses none.
        """
        reads_file = type_of(self._indexer_params) == "fasttext"
        params = self._with_path(
            self._indexer_params, reads_file, "fasttext_model_path", fasttext_model_path
        )
        if reads_file:
            with self._building(fasttext_model_path), self._naming("fasttext_model_path"):
                return TokenIndexer.from_params(params)
        with self._building():
            try:
                return TokenIndexer.from_params(params)
            except InvalidFileError as error:
                key = error.key
                # The command line cannot change the language model's configuration.
                error.key = None
                raise InvalidFileError(
                    self._archive_file,
                    "needs another file",
                    f"{error} Put it there, or change `{key}` in the `config.json` of the language "
                    "model's serialization directory and use that directory.",
                    "Language model",
                ) from None

    def open_tokenizer(self, tokenizer_path: Optional[str] = None) -> Optional[Tokenizer]:
        """Opens a subword model's tokenizer, like `open_indexer`; `None` for other models."""
        params = self._with_path(
            self._tokenizer_params, self.is_subword, "tokenizer_path", tokenizer_path
        )
        if not self.is_subword:
            return None
        with self._building(tokenizer_path), self._naming("tokenizer_path"):
            return Tokenizer.from_params(params)

    def _with_path(self, params: Any, reads_file: bool, parameter: str, path: Optional[str]) -> Any:
        """Copies `params`, with the file `path` if it is given."""
        if path is None:
            return copy.deepcopy(params)
        if not reads_file:
            raise ConfigurationError(
                f"`{parameter}` is {path}, but the language model {self._archive_file} uses no "
                "such file. Leave it out."
            )
        return Params({**params.as_dict(quiet=True), "model_path": path})

    def _building(self, path: Optional[str] = None) -> ContextManager[None]:
        return building(str(self._archive_file), "Language model", (str(path),))

    @contextmanager
    def _naming(self, parameter: str) -> Iterator[None]:
        try:
            yield
        except InvalidFileError as error:
            needed = (
                f"The language model {self._archive_file} needs it: give the file of its training "
                f"as `{parameter}`."
            )
            # A new training would give other vectors.
            is_missing = error.found.startswith("does not exist")
            error.remedy = needed if is_missing else f"{error.remedy} {needed}"
            error.parameter = parameter
            # The key of the language model's configuration, which the user does not edit.
            error.key = None
            raise


def strip_prefix(values: Mapping[str, T], prefix: str) -> Dict[str, T]:
    """Selects the values whose names have the prefix, and removes it from the names."""
    return {name[len(prefix) :]: value for name, value in values.items() if name.startswith(prefix)}


def type_of(params: Union[Params, str, None]) -> Optional[str]:
    """The type of a component, whose configuration may abbreviate `{"type": "x"}` to "x"."""
    return params.get("type") if isinstance(params, Params) else params
