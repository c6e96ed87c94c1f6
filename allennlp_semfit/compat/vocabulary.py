"""Errors of AllenNLP's vocabulary that name the damaged file."""

import inspect
import os
from typing import Any, Callable, Type, Union

from allennlp.data import Vocabulary
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE

from allennlp_semfit.common.errors import InvalidFileError, first_line

_Path = Union[str, os.PathLike]


def read_vocabulary(
    read: Callable, cls: Type[Vocabulary], directory: _Path, *args: Any, **kwargs: Any
) -> Vocabulary:
    try:
        vocabulary: Vocabulary = read(cls, directory, *args, **kwargs)
    # The other files' errors have been converted. An empty line is an `IndexError`.
    except (UnicodeError, IndexError) as error:
        raise _vocabulary_error(os.path.join(directory, NAMESPACE_PADDING_FILE), error) from error
    return vocabulary


def read_namespace(
    read: Callable, self: Vocabulary, filename: str, *args: Any, **kwargs: Any
) -> None:
    bound = inspect.signature(read).bind(self, filename, *args, **kwargs)
    namespace = bound.arguments.get("namespace", "tokens")
    try:
        read(self, filename, *args, **kwargs)
        num_words = len(self._token_to_index[namespace])
        if num_words < len(self._index_to_token[namespace]):
            raise ValueError("it has a word twice")
    except (OSError, UnicodeError, ValueError, AssertionError) as error:
        raise _vocabulary_error(filename, error) from error


def _vocabulary_error(filename: str, error: Exception) -> InvalidFileError:
    return InvalidFileError(
        filename,
        f"cannot be read ({first_line(error)})",
        "Copy it again, or make it again: `allennlp count-vocabulary` or `train-bpe` makes that of "
        "a language model.",
        kind="vocabulary file",
    )
