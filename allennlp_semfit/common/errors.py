import json
import os
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Tuple, Union

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

__all__ = ["InvalidFileError", "with_config_key"]


class InvalidFileError(ConfigurationError):
    """
    A file that the user names is missing, or is not what it should be. The message is
    "`kind` `file` `found`. `remedy`", followed by the configuration key if that is known. Code that
    knows more than the place that raised the error sets the fields.

    # Parameters

    file : `Union[str, os.PathLike]`
        The path or URL, as the user gave it.
    found : `str`
        What is wrong, as the predicate of a sentence: `"is empty"`.
    remedy : `str`
        What to do, in one or more sentences.
    kind : `str`, optional (default = `""`)
        What the file should be, if its path does not say: `"fastText model"`.
    parameter : `str`, optional (default = `None`)
        The constructor's parameter that takes another file, if `file` was not named by the
        configuration that is being read.
    key : `str`, optional (default = `None`)
        The full key of the configuration that names the file; see `with_config_key`.
    """

    def __init__(
        self,
        file: Union[str, os.PathLike],
        found: str,
        remedy: str,
        kind: str = "",
        parameter: Optional[str] = None,
        key: Optional[str] = None,
    ) -> None:
        # Not `ConfigurationError`'s, which stores a message.
        super(ConfigurationError, self).__init__()
        self.file = str(file)
        self.found = found
        self.remedy = remedy
        self.kind = kind
        self.parameter = parameter
        self.key = key

    def __reduce__(self) -> Tuple[Any, ...]:
        fields = (self.file, self.found, self.remedy, self.kind, self.parameter, self.key)
        return type(self), fields

    @property
    def message(self) -> str:  # type: ignore[override]
        """What `str` gives."""
        message = f"{self.kind} {self.file} {self.found}. {self.remedy}".lstrip()
        if self.key is None:
            return message
        override = json.dumps({self.key: "/path/to/it"})
        return (
            f"{message} In the configuration, that is `{self.key}`; to name another file, for an "
            f"archive too, give -o '{override}', along with what else is overridden."
        )


@contextmanager
def with_config_key(params: Params, parameter: str) -> Iterator[None]:
    """
    Sets the key of an `InvalidFileError` from inside it.

    # Parameters

    params : `Params`
        The parameters of what is being constructed.
    parameter : `str`
        The one that names the file, unless the error names another.
    """
    try:
        yield
    except InvalidFileError as error:
        error.key = params.history + (error.parameter or parameter)
        raise
