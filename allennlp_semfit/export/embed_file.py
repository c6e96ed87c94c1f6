import json
import logging
import math
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, Iterator, Literal, NamedTuple, Optional, Sequence, Tuple, Union

import h5py
import numpy
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size, lazy_groups_of
from numpy.lib import format as npy_format

from allennlp_semfit.common.errors import check_choice
from allennlp_semfit.common.output import check_output_path, explain_full_disk, write_file
from allennlp_semfit.common.text_files import read_lines, read_text
from allennlp_semfit.pretrained.pooling import Layers, Pool, check_pooling, pool_layers, pool_words
from allennlp_semfit.pretrained.sentence_embedder import (
    DEFAULT_BATCH_SIZE,
    SentenceEmbedder,
    windows_of,
)

logger = logging.getLogger(__name__)

_CHUNK_ROWS = 500


class SentencesFile:
    """
    UTF-8 text with one tokenized sentence per line, which can be read repeatedly. Raises a
    `ConfigurationError` if there is no such file.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            found = "it is not a regular file" if path.exists() else "there is no such file"
            raise ConfigurationError(f"{path}: {found}; give text with one sentence per line")
        self.path = path

    def summarize(self) -> Tuple[int, int]:
        """
        The number of lines, including empty ones, and of words. Raises a `ConfigurationError` if
        the file is not UTF-8, or has no word.
        """
        num_lines, num_words = 0, 0
        for text in read_text(self.path):
            num_lines += text.count("\n")
            num_words += len(text.split())
        if not num_words:
            raise ConfigurationError(
                f"{self.path}: it has no words; give text with a tokenized sentence per line"
            )
        return num_lines, num_words

    def __iter__(self) -> Iterator[str]:
        """Yields each line, without leading and trailing white space."""
        return map(str.strip, read_lines(self.path))


class EmbeddingSummary(NamedTuple):
    """
    `file_size` is in bytes. `words_per_second` does not count words that an interrupted run had
    embedded.
    """

    num_sentences: int
    num_words: int
    file_size: int
    words_per_second: float


def embed_file(
    embedder: SentenceEmbedder,
    sentences_file: Union[str, os.PathLike],
    out_file: Union[str, os.PathLike],
    *,
    layers: Layers = "all",
    pool: Optional[Pool] = None,
    dtype: Literal["float32", "float16"] = "float32",
    batch_size: int = DEFAULT_BATCH_SIZE,
    forget_sentences: bool = False,
    force: bool = False,
) -> EmbeddingSummary:
    """
    Writes the vectors of the words in a file of sentences to an HDF5 file: one dataset per line,
    named by the line's index from 0, of shape `(num_layers, length, dim)`, or `(length, dim)` if
    the layers are pooled. With `pool`, writes one vector per line: the dataset named `"vectors"` of
    an `.h5` file, or an `.npy` file, of shape `(num_lines, dim)`. Repeating the call resumes an
    interrupted run. Until the run is complete, the vectors are in a file with the suffix
    `.unfinished`; copying them at the end takes twice the space.

    The memory use is that of `SentenceEmbedder.embed_sentences`; at the end, unless
    `forget_sentences`, all sentences are in memory.

    # Parameters

    embedder : `SentenceEmbedder`
    sentences_file : `Union[str, os.PathLike]`
        UTF-8 text, one tokenized sentence per line.
    out_file : `Union[str, os.PathLike]`
        The output file, such as `vectors.h5`.

        The dataset of an empty line has length 0.
    layers : `Literal["all", "top", "average", "normalized"]`, optional (default = `"all"`)
        Whether to write all layers, the last one (top), their mean (average), or their mean after
        layer normalization of each (normalized).
    pool : `Literal["mean", "max"]`, optional (default = `None`)
        Whether to write one vector per sentence: the mean or the maximum of the vectors of its
        words; zeros for an empty line. If the layers are not pooled, they are concatenated.
    dtype : `Literal["float32", "float16"]`, optional (default = `"float32"`)
        The type of the vectors' elements. `"float16"` takes half the space.
    batch_size : `int`, optional (default = `64`)
        See `SentenceEmbedder.embed_sentences`. It changes the vectors only by rounding.
    forget_sentences : `bool`, optional (default = `False`)
        Whether to omit the dataset named `"sentence_to_index"`, JSON that maps each sentence to its
        dataset, which needs all sentences in memory.

        Its shape is `(1,)`. It maps a repeated sentence to its last dataset. With `pool`, there is
        none.
    force : `bool`, optional (default = `False`)
        Whether to replace an existing `out_file` once the new one is complete.

    # Raises

    `ConfigurationError`
        If an option, the sentences or `out_file` cannot be used, or if the unfinished vectors were
        written with other arguments.
    """
    check_pooling(layers, "mean" if pool is None else pool)
    check_choice("dtype", dtype, ("float32", "float16"))
    sentences, out = SentencesFile(Path(sentences_file)), Path(out_file).resolve()
    check_vectors_path(out, pool, [sentences.path], force=force)
    num_sentences, num_words = sentences.summarize()
    stat = sentences.path.stat()
    run = {
        "sentences": [str(sentences.path.resolve()), stat.st_size, stat.st_mtime_ns],
        "language model or options of it": embedder.identify(),
        "options": [layers, pool, dtype],
    }
    header = f"{json.dumps(run)}\n".encode()
    num_layers, dim = embedder.num_layers, embedder.get_output_dim()
    shape = (num_layers, -1, dim) if layers == "all" else (-1, dim)
    # The number of elements for a word or, with `pool`, for a sentence.
    vector_size = abs(math.prod(shape))
    vector_bytes = vector_size * numpy.dtype(dtype).itemsize
    unfinished = out.with_name(f"{out.name}.unfinished")

    def size_of(words: Sequence[str]) -> int:
        return vector_bytes * (len(words) if pool is None else 1)

    def stored_vectors() -> Iterator[numpy.ndarray]:
        file.seek(len(header))
        for words in map(str.split, sentences):
            vectors = numpy.frombuffer(file.read(size_of(words)), dtype)
            yield vectors if pool is not None else vectors.reshape(shape)
            bar.update(len(words))

    out.parent.mkdir(parents=True, exist_ok=True)
    check_output_path(unfinished, force=True)
    found = _read_run(unfinished)
    differences = [name for name, value in run.items() if found.get(name) != value]
    if found and differences and not force:
        raise ConfigurationError(
            f"{unfinished}: it has vectors of a run with other {', '.join(differences)}; give "
            "another name, or --force to replace them"
        )
    _check_disk(unfinished, 2 * vector_bytes * (num_words if pool is None else num_sentences))
    mode = "w+b" if differences else "r+b"
    with explain_full_disk(unfinished), unfinished.open(mode) as file:
        if differences:
            file.write(header)
        size = file.seek(0, os.SEEK_END)
        file.seek(len(header))
        start, resumed = time.monotonic(), 0
        with progress_bar("embedding", num_words) as bar:
            for window in windows_of(map(str.split, sentences)):
                end = file.tell() + sum(map(size_of, window))
                if end <= size:
                    file.seek(end)
                    resumed += sum(map(len, window))
                    bar.initial = resumed
                    bar.update(resumed - bar.n)
                    continue
                for words, vectors in zip(window, embedder.embed_sentences(window, batch_size)):
                    if layers != "all" or pool is not None:
                        vectors = pool_layers(vectors, layers)
                    if pool is not None:
                        vectors = pool_words(vectors, pool)
                    file.write(vectors.astype(dtype, copy=False).tobytes())
                    bar.update(len(words))
        if resumed:
            logger.info("Resumed after %s of %s words.", f"{resumed:,}", f"{num_words:,}")
        words_per_second = (num_words - resumed) / (time.monotonic() - start)
        with write_file(out) as new, progress_bar("copying", num_words) as bar:
            if pool is None:
                index = None if forget_sentences else sentences
                _write_word_vectors(new, stored_vectors(), index)
            else:
                matrix = (num_sentences, vector_size)
                _write_sentence_vectors(new, stored_vectors(), matrix, dtype)
    os.remove(unfinished)
    return EmbeddingSummary(num_sentences, num_words, out.stat().st_size, words_per_second)


def check_vectors_path(
    path: Path, pool: Optional[str], inputs: Sequence[Union[str, os.PathLike]], *, force: bool
) -> None:
    """
    Raises a `ConfigurationError` if a file of vectors cannot be written, is one of `inputs`, exists
    without `force`, or if its suffix is not that of such a file. `pool` is how the words of a
    sentence are pooled to one vector, if they are.
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


def _write_word_vectors(
    path: Path, vectors: Iterator[numpy.ndarray], sentences: Optional[SentencesFile]
) -> None:
    # Given a path, HDF5 can crash on a full disk.
    with path.open("w+b") as file, h5py.File(file, "w") as hdf5:
        for index, values in enumerate(vectors):
            hdf5[str(index)] = values
        if sentences is not None:
            indices = {line: str(index) for index, line in enumerate(sentences)}
            hdf5.create_dataset("sentence_to_index", (1,), h5py.string_dtype())
            hdf5["sentence_to_index"][0] = json.dumps(indices, ensure_ascii=False)


def _write_sentence_vectors(
    path: Path, vectors: Iterator[numpy.ndarray], shape: Tuple[int, int], dtype: str
) -> None:
    if path.suffix != ".npy":
        with path.open("w+b") as file, h5py.File(file, "w") as hdf5:
            dataset = hdf5.create_dataset("vectors", shape, dtype)
            for number, rows in enumerate(lazy_groups_of(vectors, _CHUNK_ROWS)):
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
    """Shows progress in words."""
    return Tqdm.tqdm(
        total=total,
        desc=description,
        unit=" words",
        unit_scale=True,
        smoothing=0,  # the mean speed, because lengths vary
    )


def _read_run(unfinished: Path) -> Dict[str, Any]:
    with suppress(OSError, ValueError, TypeError), unfinished.open("rb") as file:
        return dict(json.loads(file.readline()))
    return {}


def _check_disk(unfinished: Path, size: int) -> None:
    needed = size - (unfinished.stat().st_size if unfinished.exists() else 0)
    free = shutil.disk_usage(unfinished.parent).free
    if needed > free:
        raise ConfigurationError(
            f"{unfinished.parent}: the vectors and their copy need {format_size(needed)} more, and "
            f"{format_size(free)} are free; make room, or use --layers top, --layers "
            "average or --dtype float16"
        )
