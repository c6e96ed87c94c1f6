"""
Opens an archive without running what it says: its files, its configuration and its weights are
data. AllenNLP's own `load_archive` follows links, evaluates jsonnet and imports any class that the
configuration names. `docs/security.md` says what is checked.
"""

import errno
import functools
import gzip
import inspect
import json
import os
import pickle
import pickletools
import re
import shutil
import tarfile
import zipfile
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Callable, Collection, Dict, Iterator, Optional, cast

import cached_path
import torch
from allennlp.common import Params, Registrable
from allennlp.models import archival
from allennlp.nn import util as nn_util

from allennlp_semfit.common.errors import InvalidFileError, RefusalError, first_line

__all__ = [
    "UnsafeArchiveError",
    "building",
    "check_is_registered",
    "extract",
    "read_config",
    "read_weights",
]

# Weights hardly compress, and a vocabulary by a factor of five.
_MAX_RATIO = 100
_MIN_LIMIT = 2**28
_MAX_CONFIG_BYTES = 2**24
# Of a parameter in the weights.
_MAX_NAME_LENGTH = 10_000
_PICKLES_BEFORE_PYTORCH_1_6 = 5

# Components of AllenNLP that read a model which only their parameters name, from a path or the
# Hugging Face Hub. It can be a module of Python, a pickle, or a repository with code.
_READS_OTHER_MODELS = {
    "bart_encoder",
    "bert_pooler",
    "pretrained",
    "pretrained_transformer",
    "pretrained_transformer_mismatched",
    "spacy",
}


class UnsafeArchiveError(InvalidFileError):
    """The configuration of an archive could run other code than that of registered components."""


def extract(archive_file: str, directory: Path) -> None:
    """
    Extracts a `model.tar.gz`, which may contain only files and directories with relative names.

    # Raises

    `tarfile.ExtractError`
        If it contains anything else, or its contents are larger than 256 MB and than 100 times the
        archive.
    `tarfile.ReadError`, `OSError`, `EOFError`, `ValueError`, `zlib.error`
        If it is damaged, or larger than the free space.
    """
    limit = max(_MIN_LIMIT, _MAX_RATIO * os.path.getsize(archive_file))
    with (
        gzip.open(archive_file) as decompressed,
        tarfile.open(
            # A stream, "r|", only needs `read`.
            fileobj=cast(Any, _LimitedReader(decompressed, limit)),
            mode="r|",
            bufsize=2**20,
        ) as archive,
    ):
        for member in archive:
            name = Path(member.name)
            if name.anchor or ".." in name.parts:
                raise tarfile.ExtractError(f"{member.name!r} is outside of the archive")
            if member.isdir():
                (directory / name).mkdir(parents=True, exist_ok=True)
                continue
            if not member.isreg() or member.issparse():
                raise tarfile.ExtractError(f"{member.name!r} is not a regular file")
            if member.size > limit:
                raise tarfile.ExtractError(f"{member.name!r} is too large: {member.size:,} bytes")
            if member.size > shutil.disk_usage(directory).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            source = archive.extractfile(member)
            assert source is not None
            with source, (directory / name).open("xb") as file:
                shutil.copyfileobj(source, file)


class _LimitedReader:
    """Raises `tarfile.ExtractError` after `limit` bytes: headers also take memory."""

    def __init__(self, file: gzip.GzipFile, limit: int) -> None:
        self._file = file
        self._limit = self._left = limit

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise tarfile.ExtractError(f"its contents are larger than {self._limit:,} bytes")
        return data


def read_config(path: str) -> Params:
    """
    Reads a configuration as JSON; `Params.from_file` would evaluate it as jsonnet.

    # Raises

    `ValueError`
        If it is not a JSON object, or is too large.
    """
    if os.path.getsize(path) > _MAX_CONFIG_BYTES:
        raise ValueError(f"it is larger than {_MAX_CONFIG_BYTES:,} bytes")
    try:
        config = json.loads(Path(path).read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(config, dict):
        raise ValueError("it is not an object")
    return Params(config)


def read_weights(path: str, cuda_device: int = -1) -> Dict[str, torch.Tensor]:
    """
    Reads a state dict. Anything other than tensors and plain containers is refused.

    # Parameters

    path : `str`
    cuda_device : `int`, optional (default = `-1`)
        The GPU to load it to; -1 for the CPU.

    # Raises

    `pickle.UnpicklingError`
        If it contains anything else.
    `RuntimeError`, `OSError`, `EOFError`
        If it is damaged.
    """
    with open(path, "rb") as file:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                # `torch.save` does not compress.
                if sum(member.file_size for member in members) > os.path.getsize(path):
                    raise RuntimeError("they are compressed")
                for member in members:
                    if member.filename.endswith("/data.pkl"):
                        with archive.open(member) as names:
                            _check_names(names)
        else:
            file.seek(0)
            _check_names(file, num_pickles=_PICKLES_BEFORE_PYTORCH_1_6)
    kwargs: Dict[str, Any] = {"weights_only": True}
    # PyTorch 1.12, which AllenNLP requires before Python 3.11, lacks it.
    if "weights_only" not in inspect.signature(torch.load).parameters:
        kwargs = {"pickle_module": TENSORS_ONLY}
    weights = torch.load(path, map_location=nn_util.device_mapping(cuda_device), **kwargs)
    if not isinstance(weights, dict):
        raise RuntimeError(f"they are a {type(weights).__name__} instead of a dictionary")
    return weights


def _check_names(file: IO[bytes], num_pickles: int = 1) -> None:
    # For its error message, PyTorch searches them in quadratic time.
    # What is damaged, `torch.load` refuses.
    with suppress(ValueError):
        for _ in range(num_pickles):
            for _, value, _ in pickletools.genops(file):
                if isinstance(value, (str, bytes)) and len(value) > _MAX_NAME_LENGTH:
                    raise pickle.UnpicklingError(f"a name has {len(value):,} characters")


class _TensorUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (
            ("collections", "OrderedDict"),
            ("torch", "Size"),
            ("torch._utils", "_rebuild_parameter"),
            ("torch._utils", "_rebuild_tensor_v2"),
        ) or (module in ("torch", "torch.storage") and re.fullmatch(r"\w+Storage", name)):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not a tensor")


TENSORS_ONLY = SimpleNamespace(
    __name__="pickle",
    Unpickler=_TensorUnpickler,
    load=lambda file, **kwargs: _TensorUnpickler(file, **kwargs).load(),
)
"""A `pickle_module` of `torch.load` that does what `weights_only` does."""


# The URLs that may be fetched, within `building`.
_allowed_urls: "ContextVar[Optional[Collection[str]]]" = ContextVar("_allowed_urls", default=None)


@contextmanager
def building(archive_file: str, kind: str, allowed_urls: Collection[str] = ()) -> Iterator[None]:
    """
    A context manager to build what the configuration of an archive says: from registered components
    and local files only.

    # Parameters

    archive_file : `str`
    kind : `str`
        See `InvalidFileError`.
    allowed_urls : `Collection[str]`, optional (default = `()`)
        URLs that are not from the archive.

    # Raises

    `UnsafeArchiveError`
        If the configuration names a class that is not registered, a component that reads another
        model, or a URL.
    `InvalidFileError`
        If a component cannot be built from it.
    """
    is_nested = _allowed_urls.get() is not None
    token = _allowed_urls.set(allowed_urls)
    try:
        yield
    except RefusalError as error:
        if is_nested:
            found = f"needs the {kind} {archive_file}, which {error.found}"
            raise RefusalError(found, error.remedy) from None
        raise UnsafeArchiveError(archive_file, error.found, error.remedy, kind) from None
    except InvalidFileError:
        raise
    # A configuration can make components raise anything.
    except Exception as error:
        raise InvalidFileError(
            archive_file,
            f"has a configuration that does not work ({first_line(error)})",
            "Copy it again from an intact file, or train it again.",
            kind,
        ) from error
    finally:
        _allowed_urls.reset(token)


def check_is_registered(base: Any, name: str) -> None:
    """Within `building`, refuses a class that AllenNLP would import."""
    if str(name) not in Registrable._registry[base]:
        raise RefusalError(
            f"needs the {base.__name__} {name!r}, which is not registered",
            "If it is from a package that you trust, import that package first: on the command "
            "line, with --include-package.",
        )


def _check_class(base: Any, name: str) -> None:
    check_is_registered(base, name)
    if name in _READS_OTHER_MODELS:
        raise RefusalError(
            f"needs the {base.__name__} {name!r}, which reads another model by its name and may "
            "run its code",
            "Use a language model without it.",
        )


def _check_path(path: Any, *args: Any, **kwargs: Any) -> None:
    # A single letter is a drive of Windows.
    is_url = re.match(r"[A-Za-z][\w+.-]+:", str(path))
    if is_url and str(path) not in (_allowed_urls.get() or ()):
        raise RefusalError(
            f"needs {path}, which is not fetched, because it is the archive that names it",
            "Fetch the file yourself and give its path.",
        )


def _refuse(file: Any, *args: Any, **kwargs: Any) -> None:
    raise RefusalError(
        f"needs another archive, {file}, which AllenNLP would open and may run its code",
        "Use a language model without it.",
    )


def _guarded(function: Callable, check: Callable) -> Callable:
    """Within `building`, the function calls `check` with its arguments first."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if _allowed_urls.get() is not None:
            check(*args, **kwargs)
        return function(*args, **kwargs)

    return guarded


def _read_state_dict(path: str, *args: Any, **kwargs: Any) -> Dict[str, torch.Tensor]:
    read = _allennlp_read_state_dict if _allowed_urls.get() is None else read_weights
    weights: Dict[str, torch.Tensor] = read(path, *args, **kwargs)
    return weights


_allennlp_read_state_dict: Callable = nn_util.read_state_dict
nn_util.read_state_dict = _read_state_dict  # type: ignore[assignment]
# All classes, URLs and other archives that a configuration names go through these.
Registrable.resolve_class_name = classmethod(  # type: ignore[assignment,method-assign]
    _guarded(Registrable.resolve_class_name.__func__, _check_class)  # type: ignore[attr-defined]
)
cached_path.cached_path = _guarded(cached_path.cached_path, _check_path)
archival.extracted_archive = _guarded(archival.extracted_archive, _refuse)
Params.from_file = staticmethod(_guarded(Params.from_file, _refuse))  # type: ignore[method-assign]
