"""
Opens an archive without running what it says: its files, its configuration and its weights are
data. AllenNLP's own `load_archive` follows links, evaluates jsonnet and imports any class that the
configuration names. `docs/security.md` says what is checked.
"""

import functools
import gzip
import json
import os
import re
import struct
import tarfile
import threading
import zipfile
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Callable, Collection, Dict, Iterator, Optional
from unittest import mock

import cached_path
import torch
from allennlp.common import Params, Registrable
from allennlp.models import archival
from safetensors import SafetensorError
from safetensors.torch import load_file

from allennlp_semfit.common.errors import RefusalError

__all__ = [
    "DAMAGED_WEIGHTS",
    "check_is_registered",
    "extract",
    "is_guarded",
    "only_registered_components",
    "read_config",
    "read_weights",
]

# Weights hardly compress, and a vocabulary by a factor of five.
_MAX_RATIO = 100
_MIN_LIMIT = 2**28
_MAX_CONFIG_BYTES = 2**24

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


DAMAGED_WEIGHTS = (
    *(AttributeError, EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError),
    *(SafetensorError, struct.error, zipfile.BadZipFile),
)
"""What `read_weights` raises for damaged bytes: PyTorch interprets them as they come."""


def extract(archive_file: str, directory: Path, *, skipped: str = "") -> None:
    """
    Extracts a `model.tar.gz`, which may contain only files and directories with relative names. The
    member `skipped` is checked, but not written.

    # Raises

    `tarfile.TarError`
        If it contains anything else, or its contents are larger than 256 MB and than 100 times the
        archive.
    `OSError`, `EOFError`, `ValueError`, `zlib.error`
        If it is damaged, or the disk is full.
    """
    with (
        _LimitedGzipFile(archive_file) as decompressed,
        tarfile.open(fileobj=decompressed, mode="r:") as archive,
    ):
        # Debian's Python 3.11.2 has no filters, and needs none for what is checked here.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        for member in archive:
            # A sparse file needs little of the archive and all of the memory.
            is_plain = member.isdir() or (member.isreg() and not member.issparse())
            is_inside = not os.path.isabs(member.name) and ".." not in Path(member.name).parts
            if not is_plain or not is_inside:
                raise tarfile.ExtractError(f"{member.name!r} is no file with a relative name")
            if member.name != skipped:
                archive.extract(member, directory, set_attrs=False)


class _LimitedGzipFile(gzip.GzipFile):
    """Raises `tarfile.ExtractError` before too many bytes, of headers too: they take memory."""

    def read(self, size: Optional[int] = -1) -> bytes:
        limit = max(_MIN_LIMIT, _MAX_RATIO * os.path.getsize(self.name))
        if self.tell() + (size or 0) > limit:
            raise tarfile.ExtractError(f"its contents are larger than {limit:,} bytes")
        return super().read(size)


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


def read_weights(path: str) -> Dict[str, torch.Tensor]:
    """
    Reads a state dict to the CPU.

    # Raises

    `pickle.UnpicklingError`
        If it contains anything else than tensors and plain containers.
    `DAMAGED_WEIGHTS`
        If it is damaged.
    """
    if path.endswith(".safetensors"):
        return load_file(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            # `torch.save` does not compress.
            if sum(member.file_size for member in archive.infolist()) > os.path.getsize(path):
                raise ValueError("they are compressed")
    weights = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(weights, dict):
        raise ValueError(f"they are a {type(weights).__name__} instead of a dictionary")
    for name, tensor in weights.items():
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"{name} is a {type(tensor).__name__} instead of a tensor")
    return weights


# The URLs that may be fetched, within `only_registered_components`.
_allowed_urls: "ContextVar[Optional[Collection[str]]]" = ContextVar("_allowed_urls", default=None)
# One thread at a time replaces functions of AllenNLP and restores them.
_replacing = threading.RLock()


def is_guarded() -> bool:
    """Whether this runs within `only_registered_components`."""
    return _allowed_urls.get() is not None


@contextmanager
def only_registered_components(allowed_urls: Collection[str]) -> Iterator[None]:
    """
    A context manager to build what the configuration of an archive says: from registered components
    and local files only. All classes, URLs and other archives that a configuration names go through
    four functions of AllenNLP. Until the end of the block they check their arguments first, in this
    thread only. A check of the configuration itself would have to know which of its strings
    AllenNLP takes for a class, and which class it builds where none is named.

    # Parameters

    allowed_urls : `Collection[str]`
        URLs that are not from the archive.

    # Raises

    `RefusalError`
        If the configuration names a class that is not registered, a component that reads another
        model, or a URL.
    """
    resolve = Registrable.resolve_class_name.__func__  # type: ignore[attr-defined]
    with _replacing, ExitStack() as replaced:
        for owner, name, guarded in (
            (Registrable, "resolve_class_name", classmethod(_guarded(resolve, _check_class))),
            (cached_path, "cached_path", _guarded(cached_path.cached_path, _check_path)),
            (archival, "extracted_archive", _guarded(archival.extracted_archive, _refuse)),
            (Params, "from_file", staticmethod(_guarded(Params.from_file, _refuse))),
        ):
            replaced.enter_context(mock.patch.object(owner, name, guarded))
        token = _allowed_urls.set(allowed_urls)
        try:
            yield
        finally:
            _allowed_urls.reset(token)


def check_is_registered(base: Any, name: str) -> None:
    """
    # Raises

    `RefusalError`
        If it is a class that AllenNLP would import.
    """
    if str(name) not in Registrable._registry[base]:
        raise RefusalError(
            f"needs the {base.__name__} {name!r}, which is not registered",
            "If it is from a package that you trust, import that package first (on the command "
            "line, with --include-package), and name the class as it is registered.",
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
    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        # Another thread may run it.
        if is_guarded():
            check(*args, **kwargs)
        return function(*args, **kwargs)

    return guarded
