"""Files of vectors: HDF5, or NumPy's `.npy` for one vector per sentence."""

import json
import os
from pathlib import Path
from typing import Any, Iterable, Optional, Sequence, Tuple, Union

import h5py
import numpy
from allennlp.common import Tqdm
from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from more_itertools import chunked
from numpy.lib import format as npy_format

from allennlp_semfit.common.output import check_output_path

_CHUNK_ROWS = 500


def check_vectors_path(
    path: Path, pool: Optional[str], inputs: Sequence[Union[str, os.PathLike]], *, force: bool
) -> None:
    """
    # Parameters

    path : `Path`
        Its directory may be missing.
    pool : `Optional[str]`
        How the words of a sentence are pooled to one vector, if they are.
    inputs : `Sequence[Union[str, os.PathLike]]`
        Files that it must not be.
    force : `bool`
        Whether it may exist.

    # Raises

    `ConfigurationError`
        If it cannot be written, is one of `inputs`, or its suffix is not that of such a file.
    """
    check_output_path(path, force=force, inputs=inputs)
    if pool is None and path.suffix == ".npy":
        raise ConfigurationError(
            f"{path}: a .npy file has one vector per sentence; add --pool mean, or give the name "
            "of an .h5 file"
        )
    if path.suffix not in (".h5", ".hdf5", ".npy"):
        raise ConfigurationError(
            f"{path}: the suffix chooses the format; give a name that ends in .h5, .hdf5 or, with "
            "--pool, .npy"
        )


def write_word_vectors(
    path: Path, vectors: Iterable[numpy.ndarray], sentences: Optional[Iterable[str]]
) -> None:
    """
    Writes an HDF5 file with a dataset for each line, named by its index from `"0"`. If there are
    `sentences`, `"sentence_to_index"` has a JSON object that maps each of them to the name of its
    dataset, a repeated sentence to its last one.
    """
    # Given a path, HDF5 can crash on a full disk.
    with path.open("w+b") as file, h5py.File(file, "w") as hdf5:
        for index, values in enumerate(vectors):
            hdf5[str(index)] = values
        if sentences is not None:
            indices = {line: str(index) for index, line in enumerate(sentences)}
            hdf5.create_dataset("sentence_to_index", (1,), h5py.string_dtype())
            hdf5["sentence_to_index"][0] = json.dumps(indices, ensure_ascii=False)


def write_sentence_vectors(
    path: Path, vectors: Iterable[numpy.ndarray], shape: Tuple[int, int], dtype: str
) -> None:
    """
    Writes a matrix with a row for each line, shape `(num_sentences, dim)`: the array of an `.npy`
    file, or the dataset `"vectors"` of an HDF5 file.
    """
    if path.suffix != ".npy":
        with path.open("w+b") as file, h5py.File(file, "w") as hdf5:
            dataset = hdf5.create_dataset("vectors", shape, dtype)
            for number, rows in enumerate(chunked(vectors, _CHUNK_ROWS)):
                start = number * _CHUNK_ROWS
                dataset[start : start + len(rows)] = rows
        return
    # `open_memmap` would kill the process if the disk is full.
    with path.open("w+b") as file:
        descr = npy_format.dtype_to_descr(numpy.dtype(dtype))
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(file, header)
        file.writelines(row.tobytes() for row in vectors)


def progress_bar(description: str, total: int) -> Any:
    """Shows progress in words, less often with `--file-friendly-logging`."""
    return Tqdm.tqdm(
        total=total,
        desc=description,
        unit=" words",
        unit_scale=True,
        mininterval=10.0 if common_logging.FILE_FRIENDLY_LOGGING else 0.5,
        smoothing=0,  # the mean speed, because lengths vary
    )
