"""Output files and directories: checked before a long run, locked, and replaced atomically."""

import errno
import glob
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Iterator, Sequence, Union

from allennlp.common.checks import ConfigurationError
from filelock import FileLock, Timeout

from allennlp_semfit.common.signals import delayed_signals

_NO_ROOM = list(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))


def check_output_path(
    path: Path,
    *,
    contents: Sequence[str] = (),
    force: bool = False,
    inputs: Sequence[Union[str, os.PathLike]] = (),
) -> None:
    """
    Checks that a command can write its output. Parent directories may be missing.

    # Parameters

    path : `Path`
        The file to write, or the directory if `contents` is given.
    contents : `Sequence[str]`, optional (default = `()`)
        The names of the files in the directory, and of its subdirectories with a trailing `/`.
    force : `bool`, optional (default = `False`)
        Whether an existing file may be replaced or, in an existing directory, `contents`.
    inputs : `Sequence[Union[str, os.PathLike]]`, optional (default = `()`)
        Other files that the command reads. They may be missing.

    # Raises

    `ConfigurationError`
        If the output cannot be written, is one of `inputs` or, without `force`, exists. A directory
        may exist if it is empty except for hidden files.
    """
    path = path.absolute()
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
def lock_output(path: Path) -> Iterator[None]:
    """
    A context manager that locks the file or directory `path` for a run that writes it later, and
    removes the temporary files of killed processes. In the block, `write_file` and
    `write_directory` can lock it again. Missing parent directories are created.

    # Raises

    `ConfigurationError`
        If another process has locked it. The operating system releases the lock of a killed
        process.
    """
    # A link to a file is replaced, but a link to a directory is followed.
    path = path.resolve() if path.is_dir() else path.absolute()
    # The parent directory of a mount point may not be writable.
    place = path if path.is_dir() and not os.access(path.parent, os.W_OK) else path.parent
    place.mkdir(parents=True, exist_ok=True)
    lock_path = str(place / f".{path.name}.lock")
    # Re-entrant within this process.
    lock = FileLock(lock_path, is_singleton=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigurationError(
            f"{path}: another process is writing it; wait for it to end, or give another name"
        ) from None
    try:
        for directory in (path.parent, path):
            for left in directory.glob(f".{glob.escape(path.name)}.partial-*"):
                _remove(left)
        yield
    finally:
        # Remove the file before the release, after which it may be another process's lock.
        if lock.lock_counter == 1:
            Path(lock_path).unlink(missing_ok=True)
        lock.release()


@contextmanager
def write_file(path: Path, *, force: bool = True) -> Iterator[Path]:
    """
    A context manager that locks `path` and yields the path of a temporary file with the same name,
    which replaces `path` at the end. If the block raises, the temporary file is removed and `path`
    is unchanged. A missing directory is created.

    # Raises

    `ConfigurationError`
        If another process is writing `path`, the disk is full, or, without `force`, `path` exists.
    """
    with _temporary_directory(path, path.parent) as temporary:
        check_output_path(path, force=force)
        new = temporary / path.name
        yield new
        # Otherwise a system crash could leave an empty file.
        with new.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(new, path)


@contextmanager
def write_directory(path: Path, contents: Sequence[str], *, force: bool = True) -> Iterator[Path]:
    """
    A context manager that locks `path` and yields a temporary directory, whose contents are moved
    to `path` at the end. If the block raises, the contents are removed and `path` is unchanged.

    # Parameters

    path : `Path`
        Created if missing. Other files in it stay.
    contents : `Sequence[str]`
        The names of the files and directories to move, if they were written. The last one marks
        the directory as complete: it is removed first and moved last.
    force : `bool`, optional (default = `True`)
        Whether `contents` in an existing directory may be replaced.

    # Raises

    `ConfigurationError`
        As for `write_file`.
    """
    path = path.resolve()
    with _temporary_directory(path, path if path.exists() else path.parent) as temporary:
        check_output_path(path, contents=contents, force=force)
        # The temporary directory itself is readable only by its owner.
        new = temporary / "new"
        new.mkdir()
        yield new
        if not path.exists():
            os.replace(new, path)
            return
        with delayed_signals():
            for name in reversed(contents):
                _remove(path / name)
            for name in contents:
                if (new / name).exists():
                    os.replace(new / name, path / name)


@contextmanager
def _temporary_directory(path: Path, place: Path) -> Iterator[Path]:
    # The name of a `mkdtemp` is unpredictable, and other users cannot write to it.
    with lock_output(path), name_full_disk(path):
        temporary = Path(mkdtemp(prefix=f".{path.name}.partial-", dir=place))
        try:
            yield temporary
        finally:
            with delayed_signals():
                _remove(temporary)


@contextmanager
def name_full_disk(path: Path) -> Iterator[None]:
    """A context manager that raises a `ConfigurationError` with `path` if the disk is full."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        # HDF5's errors lack an `errno`, and those of `torch.save` lack the reason.
        found = next((text for text in _NO_ROOM if text in str(error)), "")
        if not found and not re.search("iostream error|unexpected pos", str(error)):
            raise
        reason = found or "the disk may be full"
        raise ConfigurationError(
            f"{path}: it cannot be written ({reason}); make room, then repeat the command"
        ) from error


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
