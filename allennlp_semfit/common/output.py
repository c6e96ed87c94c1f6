"""Output files and directories: checked before a long run, and replaced atomically."""

import logging
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Iterator, Sequence

from allennlp.common.checks import ConfigurationError

__all__ = ["check_output_path", "write_directory", "write_file"]

logger = logging.getLogger(__name__)


def check_output_path(path: Path, *, contents: Sequence[str] = (), force: bool = False) -> None:
    """
    Checks that a command can write its output. Parent directories may be missing.

    # Parameters

    path : `Path`
        The file to write or, with `contents`, the directory.
    contents : `Sequence[str]`, optional (default = `()`)
        The names of the files in the directory, and of its subdirectories with a trailing `/`.
    force : `bool`, optional (default = `False`)
        Whether an existing file may be replaced or, in an existing directory, `contents`.

    # Raises

    `ConfigurationError`
        If the output cannot be written or, without `force`, exists. A directory may exist if it is
        empty except for hidden files.
    """
    path = path.absolute()
    existing = next(place for place in (path, *path.parents) if place.exists())
    if contents and existing == path and not path.is_dir():
        raise ConfigurationError(f"{path}: it is a file; give the name of a directory")
    if existing != path and not existing.is_dir():
        raise ConfigurationError(f"{existing}: it is a file, not a directory; give another path")
    files = [path / name for name in contents if not name.endswith("/")] if contents else [path]
    for file in files:
        if file.is_dir():
            raise ConfigurationError(f"{file}: it is a directory, not a file; give another path")
    directory = existing if existing.is_dir() else existing.parent
    if not os.access(directory, os.W_OK):
        raise ConfigurationError(f"{directory}: it is not writable; give another path")
    if force:
        return
    if contents and any(path.glob("[!.]*")):
        raise ConfigurationError(
            f"{path}: it is not empty; give another directory, or --force to replace "
            f"{', '.join(contents)} in it"
        )
    if not contents and path.exists():
        raise ConfigurationError(f"{path}: it exists; give another name, or --force to replace it")


@contextmanager
def write_file(path: Path) -> Iterator[Path]:
    """
    A context manager that yields the path of a temporary file, which replaces `path` at the end. If
    the block raises, the temporary file is removed and `path` is unchanged. A missing directory is
    created. Two processes must not write the same file at the same time, because each removes the
    temporary file that a killed process has left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        yield partial
        # Otherwise a crash of the machine can leave an empty file.
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def write_directory(path: Path, contents: Sequence[str]) -> Iterator[Path]:
    """
    A context manager that yields a temporary directory, whose contents are moved to `path` at the
    end. If the block raises, they are removed and `path` is unchanged.

    # Parameters

    path : `Path`
        Created if missing. Other files in it stay.
    contents : `Sequence[str]`
        The names of the files and directories to move, if they were written. The last one marks an
        existing directory as complete: it is removed first and moved last.
    """
    path = path.absolute()
    # Inside `path` if that exists, because it may be a mount point.
    place = path if path.exists() else path.parent
    place.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name}.partial-"
    for left in sorted(place.glob(f"{prefix}*")):
        logger.warning("%s was left by an interrupted run. You can delete it.", left)
    with TemporaryDirectory(prefix=prefix, dir=place) as temporary:
        # The temporary directory itself is readable only by its owner.
        new = Path(temporary, "new")
        new.mkdir()
        yield new
        if not path.exists():
            os.replace(new, path)
            return
        for name in reversed(contents):
            if (path / name).is_dir() and not (path / name).is_symlink():
                shutil.rmtree(path / name)
            else:
                (path / name).unlink(missing_ok=True)
        for name in contents:
            if (new / name).exists():
                os.replace(new / name, path / name)
