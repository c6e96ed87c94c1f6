"""HDF5 files of the vectors of many sentences, which an interrupted program can go on writing."""

import json
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import h5py
import numpy
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from filelock import FileLock, Timeout

from allennlp_semfit.pretrained.fingerprint import Fingerprint, Part

__all__ = ["VectorsFile", "check_place"]

SENTENCE_TO_INDEX = "sentence_to_index"


class VectorsFile:
    """
    An HDF5 file with a dataset for each sentence, named by the sentence's index: "0" and so on.

    A program that is killed can leave an HDF5 file that it was writing unreadable. So it is written
    in parts, files in a directory beside it that take their names when they are whole. In the end
    they are joined, which takes the same space again, and the parts are removed.

    # Parameters

    path : `Path`
    identity : `Fingerprint`

    # Raises

    `ConfigurationError`
        If `path` is no place for a file.
    """

    def __init__(self, path: Path, identity: Fingerprint) -> None:
        check_place(path)
        self.path = path
        self.identity = identity
        self._directory = path.with_name(path.name + ".parts")

    def is_finished(self) -> bool:
        """
        Whether the file is there, with all vectors. Then its parts are not, or no longer. To be
        called while it is `locked`.
        """
        if not self.path.exists() or self._differences_of(self.path):
            return False
        if not self._differences_of_parts():
            self._remove_parts()
        return True

    def check_vacant(self, *, force: bool) -> None:
        """
        To be called while it is `locked`.

        # Parameters

        force : `bool`
            Whether to put up with other vectors: with the file, which stays until there is one to
            replace it, and with unfinished parts, which are removed.

        # Raises

        `ConfigurationError`
            If there are other vectors.
        """
        if self.path.exists() and not force:
            self._raise_if(self._differences_of(self.path), self.path, "replace it")
        differences = self._differences_of_parts()
        if differences and force:
            self._remove_parts()
        else:
            self._raise_if(differences, self._directory, "discard it")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """
        Keeps other processes from writing the same file, and from removing its parts.

        # Raises

        `ConfigurationError`
            If another one writes it.
        """
        lock_path = self._directory / ".lock"
        self._directory.mkdir(exist_ok=True)
        try:
            lock = FileLock(str(lock_path), timeout=0).acquire()
        except Timeout:
            raise ConfigurationError(
                f"{self.path}: another process is writing it; wait for that, or give another name"
            ) from None
        with lock:
            try:
                yield
            finally:
                # Whatever else somebody has put there stays.
                if list(self._directory.iterdir()) == [lock_path]:
                    lock_path.unlink()
                    self._directory.rmdir()

    def finished_parts(self) -> Dict[int, Part]:
        """The parts that are there, by their number."""
        parts = {}
        for path in self._part_paths():
            attributes = _read_attributes(path)
            if not self.identity.differences(attributes):
                values = (int(attributes[f"part_{name}"]) for name in Part._fields)
                parts[int(path.stem.split("-")[1])] = Part(*values)
        return parts

    def bytes_in_parts(self) -> int:
        """What the parts take on the disk, unfinished ones included."""
        return sum(path.stat().st_size for path in self._directory.glob("*"))

    @contextmanager
    def write_part(self, number: int, part: Part) -> Iterator[Callable[[int, numpy.ndarray], None]]:
        """
        # Parameters

        number : `int`
            Counted from 0.
        part : `Part`

        # Returns

        `Iterator[Callable[[int, numpy.ndarray], None]]`
            A context manager; inside it, a function that takes a sentence's index and its vectors.
        """
        path = self._part_path(number)
        with _new_file(path.with_suffix(".tmp"), path) as file:

            def add(index: int, vectors: numpy.ndarray) -> None:
                with _write_errors(path):
                    file.create_dataset(str(index), data=vectors)

            yield add
            file.attrs.update(self.identity._asdict())
            file.attrs.update({f"part_{name}": value for name, value in part._asdict().items()})

    def join_parts(
        self, parts: Sequence[Part], sentence_to_index: Optional[Dict[str, str]] = None
    ) -> None:
        """
        Makes the file, and removes the parts.

        # Parameters

        parts : `Sequence[Part]`
            All that were written, by their number.
        sentence_to_index : `Dict[str, str]`
            If given, becomes the dataset "sentence_to_index", as JSON.

        # Raises

        `ConfigurationError`
            If they are not those of all sentences.
        """
        num_sentences = sum(part.num_sentences for part in parts)
        if num_sentences != self.identity.num_sentences:
            raise ConfigurationError(
                f"{self.path}: there are vectors for {num_sentences:,} of "
                f"{self.identity.num_sentences:,} sentences, which have changed while they were "
                f"read; leave them as they are, remove {self._directory} and begin again"
            )
        for number in range(len(parts)):
            self._raise_if(
                self._differences_of(self._part_path(number)),
                self._part_path(number),
                "make it again",
            )
        progress = Tqdm.tqdm(
            total=self.identity.num_sentences, desc="joining", unit=" sentences", unit_scale=True
        )
        with progress, _new_file(self._directory / "joined.tmp", self.path) as file:
            for number, part in enumerate(parts):
                with h5py.File(self._part_path(number), "r") as source:
                    for index in range(part.first, part.first + part.num_sentences):
                        with _write_errors(self.path):
                            source.copy(str(index), file)
                progress.update(part.num_sentences)
            if sentence_to_index is not None:
                text = json.dumps(sentence_to_index, ensure_ascii=False)
                dataset = file.create_dataset(SENTENCE_TO_INDEX, (1,), dtype=h5py.string_dtype())
                dataset[0] = text
            file.attrs.update(self.identity._asdict())
        self._remove_parts()

    def _remove_parts(self) -> None:
        for pattern in ("part-*.h5", "part-*.tmp", "joined.tmp"):
            for path in self._directory.glob(pattern):
                path.unlink()

    def _part_path(self, number: int) -> Path:
        return self._directory / f"part-{number:06}.h5"

    def _part_paths(self) -> List[Path]:
        return sorted(self._directory.glob("part-*.h5"))

    def _differences_of(self, path: Path) -> List[str]:
        return self.identity.differences(_read_attributes(path))

    def _differences_of_parts(self) -> List[str]:
        for path in self._part_paths():
            attributes = _read_attributes(path)
            # What cannot be read is written again.
            if attributes:
                return self.identity.differences(attributes)
        return []

    def _raise_if(self, differences: List[str], path: Path, remedy: str) -> None:
        if differences:
            raise ConfigurationError(
                f"{path}: it holds something else: {'; '.join(differences)}. Give another name, or "
                f"--force to {remedy}"
            )


def check_place(path: Path) -> None:
    """
    # Raises

    `ConfigurationError`
        If there is no directory for the file `path`, or it cannot be written to.
    """
    if path.is_dir():
        raise ConfigurationError(f"{path}: it is a directory; give the name of a file in it")
    if not path.parent.is_dir():
        raise ConfigurationError(
            f"{path}: there is no directory {path.parent}; make it, or give another name"
        )
    if not os.access(path.parent, os.W_OK):
        raise ConfigurationError(f"{path}: its directory is not writable; give it another place")


@contextmanager
def _new_file(unfinished: Path, path: Path) -> Iterator[h5py.File]:
    """An HDF5 file to write, which takes its name when it is whole."""
    with _write_errors(path):
        file = h5py.File(unfinished, "w")
    try:
        yield file
    except BaseException:
        with suppress(OSError, RuntimeError):
            file.close()
        raise
    with _write_errors(path):
        file.close()
        with unfinished.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(unfinished, path)


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """
    # Raises

    `ConfigurationError`
        For what HDF5 raises when it cannot write, for want of space for example.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(
            f"{path}: it cannot be written ({str(error).splitlines()[0]}); make room, then give "
            "the same command again"
        ) from error


def _read_attributes(path: Path) -> Dict[str, Any]:
    """Nothing if the file is no HDF5, or was cut short."""
    try:
        with h5py.File(path, "r") as file:
            return dict(file.attrs)
    except OSError:
        return {}
