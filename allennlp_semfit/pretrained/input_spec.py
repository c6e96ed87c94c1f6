"""How a trained language model reads its words, as its configuration says."""

import copy
import os
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Tuple, Union

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, TokenIndexer, Tokenizer

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.data.dataset_readers.language_modeling import LanguageModelingReader

__all__ = ["InputFileError", "InputSpec"]


class InputFileError(InvalidFileError):
    """
    A file that a language model reads its words with is missing, or is not what it should be.

    # Parameters

    message : `str`
    parameter : `str`
        The parameter that names another file.
    """

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.message, self.parameter)


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

    def open_indexer(self, fasttext_model_path: Optional[str] = None) -> TokenIndexer:
        """
        # Parameters

        fasttext_model_path : `str`, optional (default = `None`)
            The language model's fastText file, if it is no longer where it was in training.

        # Returns

        `TokenIndexer`
            The language model's own indexer of what it reads.

        # Raises

        `InputFileError`
            If the file is missing or no fastText model.
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

        `InputFileError`
            If the file is missing or no tokenizer.
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
            raise InputFileError(
                f"{_without_location(error)} The language model {self._archive_file} reads its "
                f"words with it: give the file that it was trained with as `{parameter}`.",
                parameter,
            ) from None


def _without_location(error: InvalidFileError) -> InvalidFileError:
    """
    # Parameters

    error : `InvalidFileError`
        About a file that a language model's configuration names.

    # Returns

    `InvalidFileError`
        The error as it was before `with_config_key` added a place in that configuration, which is
        not the user's own.
    """
    while isinstance(error.__context__, InvalidFileError):
        error = error.__context__
    return error


def _type_of(params: Union[Params, str, None]) -> Optional[str]:
    # For `{"type": "empty"}`, a configuration may say "empty".
    return params.get("type") if isinstance(params, Params) else params
