import json
import os
import re
from math import inf
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

try:
    from allennlp.common.checks import ConfigurationError
except ImportError:

    class ConfigurationError(Exception):  # type: ignore[no-redef]
        """As in AllenNLP, which an exported folder does not need."""


class InvalidFileError(ConfigurationError):
    """
    A user's file is missing or invalid. The message is "`kind` `file` `found`. `remedy`",
    followed by the configuration key if that is known.

    `file` is the path or URL, as the user gave it, and `kind` the expected kind of file, such as
    `"fastText model"`. `found` is what is wrong, as the predicate of a sentence: `"is empty"`.
    `remedy` is what to do, in one or more sentences. `key` is the full configuration key of the
    file; see `NamesConfigKey`.
    """

    def __init__(
        self,
        file: Union[str, os.PathLike],
        found: str,
        remedy: str,
        kind: str = "",
        key: Optional[str] = None,
    ) -> None:
        # `ConfigurationError`'s own constructor would store a message.
        super(ConfigurationError, self).__init__()
        self.file = str(file)
        self.found = found
        self.remedy = remedy
        self.kind = kind
        self.key = key

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.file, self.found, self.remedy, self.kind, self.key)

    @property
    def statement(self) -> str:
        """The message without the configuration key."""
        return f"{self.kind} {self.file} {self.found}. {self.remedy}".lstrip()

    def __str__(self) -> str:
        if self.key is None:
            return self.statement
        override = json.dumps({self.key: "/path/to/it"})
        return (
            f"{self.statement} The configuration key of this file is `{self.key}`; to use another "
            "file, even with an archive, set every key that names this one, all in one -o with any "
            f"other overrides: -o '{override}'"
        )


def check_bounds(
    values: Mapping[str, Optional[float]],
    *,
    at_least: float,
    at_most: float = inf,
    but_not: float = inf,
) -> None:
    """
    Raises a `ConfigurationError` if the value of an option is out of bounds, infinite, or equal to
    `but_not`, which is one of the bounds. `None` is not checked.
    """
    lower = f"greater than {at_least}" if but_not == at_least else f"at least {at_least}"
    upper = f"less than {at_most}" if but_not == at_most else f"at most {at_most}"
    expected = lower if at_most == inf else f"{lower} and {upper}"
    for option, value in values.items():
        # Neither comparison holds for NaN.
        if value is not None and (value in (but_not, inf) or not at_least <= value <= at_most):
            finite = " and finite" if value == inf else ""
            raise ConfigurationError(f"{option} must be {expected}{finite}, got {value}")


def check_choice(option: str, value: Any, choices: Sequence[str]) -> None:
    """Raises a `ConfigurationError` if the value of an option is not one of `choices`."""
    if value not in choices:
        raise ConfigurationError(f"{option} must be one of {', '.join(choices)}, got {value!r}")


def check_dims(one: str, one_dim: int, other: str, other_dim: int) -> None:
    """Raises a `ConfigurationError`, which begins with `one`, if two dimensions differ."""
    if one_dim != other_dim:
        raise ConfigurationError(
            f"{one} has dimension {one_dim}, but {other} is {other_dim}; set it to {one_dim}."
        )


# The first bytes of a compressed file or archive, and the program that decompresses it.
_DECOMPRESSORS = {
    rb"\x1f\x8b": "gunzip",
    rb"BZh[1-9]1AY": "bunzip2",
    rb"\xfd7zXZ\0": "unxz",
    rb"\x28\xb5\x2f\xfd": "unzstd",
    rb"PK\x03\x04": "unzip",
    rb"7z\xbc\xaf\x27\x1c": "7z x",
    rb"(?s:.{257})ustar": "tar -xf",
}


def check_not_compressed(
    start: bytes, file: Union[str, os.PathLike], remedy: str, kind: str
) -> None:
    """
    Raises an `InvalidFileError` if `start`, the first bytes of a file, are those of a compressed
    one. `remedy` and `kind` are as for `InvalidFileError`.
    """
    for magic, program in _DECOMPRESSORS.items():
        if re.match(magic, start):
            found = f"is compressed; decompress it with `{program}`"
            raise InvalidFileError(file, found, remedy, kind)


def first_line(error: BaseException) -> str:
    """The first line of the error's message or, if it has none, the name of its type."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def resolve_path(path: Union[str, os.PathLike], remedy: str, kind: str) -> str:
    """
    Returns the local path of a file or directory, which AllenNLP's `cached_path` downloads first if
    `path` is a URL. Without AllenNLP, `path` must be local. Raises an `InvalidFileError`
    of this `kind` if the file does not exist, cannot be downloaded, or is a pipe or device, which
    may never end. `remedy` is what to do if it does not exist.
    """
    try:
        resolved = _fetch(path)
    except Exception as error:
        if type(error) is FileNotFoundError:
            place = "" if "://" in str(path) else f" (working directory: {os.getcwd()})"
            raise InvalidFileError(path, f"does not exist{place}", remedy, kind) from None
        # The Hub's client raises a subclass if it cannot reach the Hub; its first cause says why.
        reason = _first_cause(error) if isinstance(error, FileNotFoundError) else error
        # The clients of cloud storage raise errors of unrelated types.
        found = f"cannot be fetched ({' '.join(str(reason).split()).rstrip('.')})"
        raise InvalidFileError(path, found, "Try again, or give a local copy.", kind) from error
    if not os.path.isfile(resolved) and not os.path.isdir(resolved):
        raise InvalidFileError(path, "is not a regular file", "Write its content to a file.", kind)
    return resolved


def _fetch(path: Union[str, os.PathLike]) -> str:
    # For a local path, AllenNLP would create its cache in the home directory, which a user of a
    # container may not have.
    local = os.path.expanduser(path)
    if os.path.exists(local):
        return local
    if "://" not in local:
        raise FileNotFoundError
    try:
        from allennlp.common.file_utils import cached_path
    except ImportError:
        raise ValueError("the package allennlp is not installed") from None
    return str(cached_path(path))


def _first_cause(error: BaseException) -> BaseException:
    cause = error.__cause__ or error.__context__
    return error if cause is None else _first_cause(cause)


def resolve_file(path: Union[str, os.PathLike], remedy: str, kind: str) -> str:
    """Like `resolve_path`, but refuses a directory."""
    resolved = resolve_path(path, remedy, kind)
    if os.path.isdir(resolved):
        raise InvalidFileError(path, "is a directory", "Give the file in it.", kind)
    return resolved


def absolute_path(path: Union[str, os.PathLike]) -> str:
    """
    The path for another process, which may have another working directory: absolute if it exists,
    as a URL does not.
    """
    return os.path.abspath(path) if os.path.exists(path) else os.fspath(path)
