"""Output files and directories: checked before a long run, and replaced atomically."""

import errno
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence, Union

from allennlp.common.checks import ConfigurationError
from safetensors import SafetensorError

_NO_ROOM = list(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))


def check_output_path(
    path: Path,
    *,
    contents: Sequence[str] = (),
    force: bool = False,
    inputs: Sequence[Union[str, os.PathLike]] = (),
) -> None:
    """
    Checks that a command can write the file `path` or, with `contents`, these files and
    subdirectories, the latter with a trailing `/`, in the directory `path`. Parent directories may
    be missing. With `force`, existing output may be replaced. `inputs` are files that the command
    reads, which may be missing. Raises a `ConfigurationError` if the output cannot be
    written, is one of `inputs` or, without `force`, exists. A directory may exist if it is empty
    except for hidden files.
    """
    path = path.absolute()
    if not contents and path.suffix in (".gz", ".bz2", ".xz", ".zip"):
        raise ConfigurationError(f"{path}: the output is not compressed; leave out {path.suffix}")
    if path.exists():
        if any(os.path.exists(file) and path.samefile(file) for file in inputs):
            raise ConfigurationError(f"{path}: it is an input; give the output another name")
        if contents and path.is_file():
            raise ConfigurationError(f"{path}: it is a file; give the name of a directory")
        if not contents and path.is_dir():
            raise ConfigurationError(f"{path}: it is a directory, not a file; give another path")
        if not path.is_file() and not path.is_dir():
            raise ConfigurationError(f"{path}: it is not a regular file; give another path")
        if not contents and not force:
            raise ConfigurationError(
                f"{path}: it exists; give another name, or --force to replace it"
            )
        if not force and any(path.glob("[!.]*")):
            raise ConfigurationError(
                f"{path}: it is not empty; give another directory, or --force to replace "
                f"{', '.join(contents)} in it"
            )
    directory = path if path.is_dir() else next(filter(Path.exists, path.parents))
    if not directory.is_dir():
        raise ConfigurationError(f"{directory}: it is a file, not a directory; give another path")
    if not os.access(directory, os.W_OK):
        raise ConfigurationError(f"{directory}: it is not writable; give another path")


@contextmanager
def write_file(path: Path) -> Iterator[Path]:
    """
    A context manager that yields the path of a temporary file with the same name, which replaces
    `path` at the end. If the block raises, the temporary file is removed and `path` is unchanged. A
    missing directory is created. Raises a `ConfigurationError` if the disk is full.
    """
    path = path.resolve()
    with _temporary_directory(path, path.parent) as temporary:
        yield temporary / path.name
        os.replace(temporary / path.name, path)


@contextmanager
def write_directory(path: Path, contents: Sequence[str]) -> Iterator[Path]:
    """
    A context manager that yields a temporary directory, whose `contents`, if they were written, are
    moved to `path` at the end; the last one marks the directory as complete: it is removed first
    and moved last. Other files in `path` stay. If the block raises, the contents are removed and
    `path` is unchanged. Raises a `ConfigurationError` if the disk is full.
    """
    path = path.resolve()
    with _temporary_directory(path, path if path.exists() else path.parent) as temporary:
        new = temporary / "new"
        new.mkdir()
        yield new
        if not path.exists():
            os.replace(new, path)
            return
        # Only move files here, which is quick: an interruption in between could lose them.
        old = temporary / "old"
        old.mkdir()
        for name in reversed(contents):
            if (path / name).exists():
                os.replace(path / name, old / name)
        for name in contents:
            if (new / name).exists():
                os.replace(new / name, path / name)


def copy_files(source: Path, target: Path) -> None:
    """Copies the files of a directory. The copies are writable even if the originals are not."""
    for path in filter(Path.is_file, source.rglob("*")):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


@contextmanager
def _temporary_directory(path: Path, place: Path) -> Iterator[Path]:
    temporary = place / f".{path.name}.partial"
    # A killed process leaves the directory behind.
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        with explain_full_disk(path):
            yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def explain_full_disk(path: Path) -> Iterator[None]:
    """Raises a `ConfigurationError` in place of the errors of a full disk."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        # HDF5's errors lack an `errno`, and those of `torch.save` lack the reason.
        reason = next((text for text in _NO_ROOM if text in str(error)), "")
        if not reason and not re.search("iostream error|unexpected pos", str(error)):
            raise
        raise ConfigurationError(
            f"{path}: it cannot be written ({reason or 'the disk may be full'}); make room, then "
            "repeat the command"
        ) from error
