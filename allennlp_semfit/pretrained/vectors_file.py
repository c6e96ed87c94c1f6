"""Files of vectors: HDF5, or NumPy's `.npy` for one vector per sentence."""

import hashlib
import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import (
    Any,
    BinaryIO,
    Dict,
    Iterable,
    Iterator,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    Union,
)

import h5py
import numpy
from allennlp.common import Tqdm
from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from numpy.lib import format as npy_format

from allennlp_semfit.common.output import check_output_path

__all__ = [
    "add_checksum",
    "check_vectors_path",
    "is_intact",
    "progress_bar",
    "read_fingerprint",
    "write_sentence_vectors",
    "write_word_vectors",
]

Fingerprint = Dict[str, Any]


class Readable(Protocol):
    """A binary file, or a part of one."""

    def read(self, size: int) -> bytes:
        """Reads `size` bytes, or fewer at the end."""


_CHUNK_BYTES = 2**24

_MAX_FINGERPRINT = 10_000
"""The maximum length of a fingerprint, in characters."""


def check_vectors_path(
    path: Path, pool: Optional[str], inputs: Sequence[Union[str, os.PathLike]]
) -> None:
    """
    # Parameters

    path : `Path`
        It may exist, and its directory may be missing.
    pool : `Optional[str]`
        How the words of a sentence are pooled to one vector, if they are.
    inputs : `Sequence[Union[str, os.PathLike]]`
        Files that it must not be.

    # Raises

    `ConfigurationError`
        If it cannot be written, is one of `inputs`, or its suffix is that of another format.
    """
    if pool is None and path.suffix == ".npy":
        raise ConfigurationError(
            f"{path}: a .npy file has one vector per sentence; add --pool mean, or give the name "
            "of an .h5 file"
        )
    if pool is not None and path.suffix not in (".h5", ".npy"):
        raise ConfigurationError(
            f"{path}: with --pool, the suffix chooses the format; give a name that ends in .h5 or "
            ".npy"
        )
    check_output_path(path, force=True, inputs=inputs)


def read_fingerprint(path: Path) -> Fingerprint:
    """
    Reads the arguments of the run that wrote a file, or from which it was interrupted. It is empty
    if something else wrote the file.
    """
    damaged = (OSError, RuntimeError, ValueError, LookupError, TypeError, OverflowError)
    with suppress(*damaged), h5py.File(path, "r") as hdf5:
        return dict(hdf5.attrs)
    with suppress(*damaged), path.open("rb") as file:
        if path.suffix != ".npy":
            return dict(json.loads(file.readline(_MAX_FINGERPRINT)))
        npy_format.read_magic(file)
        shape, _, dtype = npy_format.read_array_header_1_0(file)
        file.seek(math.prod(shape) * dtype.itemsize, os.SEEK_CUR)
        npy_format.read_magic(file)
        _, _, dtype = npy_format.read_array_header_1_0(file)
        # Four bytes per character. `numpy.load` would reserve memory for any number.
        if dtype.itemsize <= 4 * _MAX_FINGERPRINT:
            text = numpy.frombuffer(file.read(dtype.itemsize), dtype)
            return dict(json.loads(str(text[0])))
    return {}


def add_checksum(path: Path) -> None:
    """
    Appends the SHA-256 of a finished file to it. HDF5 and NumPy do not read beyond their data.
    """
    with path.open("r+b") as file:
        digest = _sha256(file, path.stat().st_size)
        file.seek(0, os.SEEK_END)
        file.write(digest)


def is_intact(path: Path) -> bool:
    """Whether a file ends with the checksum that `add_checksum` appended."""
    with path.open("rb") as file:
        size = path.stat().st_size - hashlib.sha256().digest_size
        return _sha256(file, size) == file.read()


def _sha256(file: BinaryIO, size: int) -> bytes:
    """The SHA-256 of the first `size` bytes."""
    sha256 = hashlib.sha256()
    for start in range(0, size, _CHUNK_BYTES):
        sha256.update(file.read(min(_CHUNK_BYTES, size - start)))
    return sha256.digest()


def write_word_vectors(
    path: Path,
    vectors: Readable,
    sentences: Iterable[str],
    shape: Sequence[int],
    dtype: str,
    num_words: int,
    fingerprint: Fingerprint,
) -> None:
    """
    Writes an HDF5 file with a dataset for each line, named by its index from `"0"`. Unless
    `fingerprint["sentence_to_index"]` is false, `"sentence_to_index"` has a JSON object that maps
    each sentence to the name of its dataset, a repeated sentence to its last one.

    # Parameters

    path : `Path`
    vectors : `Readable`
        The vectors of all words, one sentence after the other.
    sentences : `Iterable[str]`
        The lines, which can be read repeatedly.
    shape : `Sequence[int]`
        The shape of a dataset, with -1 for the number of words.
    dtype : `str`
    num_words : `int`
        That of all sentences.
    fingerprint : `Dict[str, Any]`
        The attributes of the file.
    """
    bytes_per_word = abs(math.prod(shape)) * numpy.dtype(dtype).itemsize
    with h5py.File(path, "w") as hdf5:
        with progress_bar("copying", num_words) as bar:
            for index, words in enumerate(map(str.split, sentences)):
                values = numpy.frombuffer(vectors.read(len(words) * bytes_per_word), dtype)
                hdf5[str(index)] = values.reshape(shape)
                bar.update(len(words))
        if fingerprint["sentence_to_index"]:
            indices = {line: str(index) for index, line in enumerate(sentences)}
            hdf5.create_dataset("sentence_to_index", (1,), h5py.string_dtype())
            hdf5["sentence_to_index"][0] = json.dumps(indices, ensure_ascii=False)
        hdf5.attrs.update(fingerprint)


def write_sentence_vectors(
    path: Path,
    vectors: Readable,
    shape: Tuple[int, int],
    dtype: str,
    fingerprint: Fingerprint,
    is_npy: bool,
) -> None:
    """
    Writes a matrix with a row for each line: the dataset `"vectors"` of an HDF5 file, or the array
    of an `.npy` file. There, a second array has the fingerprint, as JSON; `numpy.load` reads the
    first only.

    # Parameters

    path : `Path`
    vectors : `Readable`
        The rows.
    shape : `Tuple[int, int]`
        `(num_sentences, dim)`.
    dtype : `str`
    fingerprint : `Dict[str, Any]`
        The attributes of an HDF5 file.
    is_npy : `bool`
        The format. Not the suffix of `path`, which may be temporary.
    """
    if not is_npy:
        with h5py.File(path, "w") as hdf5:
            dataset = hdf5.create_dataset("vectors", shape, dtype)
            for start, rows in _chunks(vectors, shape, dtype):
                dataset[start : start + len(rows)] = rows
            hdf5.attrs.update(fingerprint)
        return
    # Not `open_memmap`, because writing to mapped memory kills the process if the disk is full.
    with path.open("wb") as file:
        header = {
            "descr": npy_format.dtype_to_descr(numpy.dtype(dtype)),
            "fortran_order": False,
            "shape": shape,
        }
        npy_format.write_array_header_1_0(file, header)
        for _, rows in _chunks(vectors, shape, dtype):
            file.write(rows.tobytes())
        numpy.save(file, numpy.array(json.dumps(fingerprint)))


def _chunks(
    vectors: Readable, shape: Tuple[int, int], dtype: str
) -> Iterator[Tuple[int, numpy.ndarray]]:
    """Yields some rows at a time, with the index of the first, and shows progress."""
    num_rows, dim = shape
    bytes_per_row = dim * numpy.dtype(dtype).itemsize
    step = max(1, _CHUNK_BYTES // bytes_per_row)
    with progress_bar("copying", num_rows, "sentences") as bar:
        for start in range(0, num_rows, step):
            rows = numpy.frombuffer(vectors.read(step * bytes_per_row), dtype).reshape(-1, dim)
            yield start, rows
            bar.update(len(rows))


def progress_bar(description: str, total: int, unit: str = "words") -> Any:
    """Shows progress, less often with `--file-friendly-logging`."""
    return Tqdm.tqdm(
        total=total,
        desc=description,
        unit=f" {unit}",
        unit_scale=True,
        mininterval=10.0 if common_logging.FILE_FRIENDLY_LOGGING else 0.5,
        smoothing=0,  # the mean speed, because lengths vary
    )
