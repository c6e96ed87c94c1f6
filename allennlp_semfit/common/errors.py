import json
from contextlib import contextmanager
from typing import Iterator

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

__all__ = ["InvalidFileError", "with_config_key"]


class InvalidFileError(ConfigurationError):
    """A file that a configuration names is missing, or is not what it should be."""


@contextmanager
def with_config_key(params: Params, key: str) -> Iterator[None]:
    """
    Adds to an `InvalidFileError` from inside it where the configuration names the file, and how
    to name another on the command line: an archive that has travelled asks for that.

    # Parameters

    params : `Params`
        What is being constructed.
    key : `str`
        The key in `params` that names the file.
    """
    location = params.history + key
    try:
        yield
    except InvalidFileError as error:
        override = json.dumps({location: "/path/to/it"})
        raise InvalidFileError(
            f"{error} The configuration names it at `{location}`; to name another, for an archive "
            f"too, give -o '{override}', along with what else is overridden."
        ) from None
