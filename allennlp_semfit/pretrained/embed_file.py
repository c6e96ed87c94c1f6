"""Writes the vectors of a file of sentences to HDF5."""

import json
import logging
import math
import os
import shutil
import time
from contextlib import contextmanager, suppress
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, BinaryIO, Callable, Dict, Iterator, NamedTuple, Sequence, Union

import h5py
import numpy
from allennlp.common import Tqdm
from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size
from filelock import FileLock, Timeout
from more_itertools import constrained_batches

from allennlp_semfit.common.output import check_output_path, write_file
from allennlp_semfit.pretrained.layer_pooling import MODES, pool_layers
from allennlp_semfit.pretrained.sentence_embedder import (
    DEFAULT_BATCH_SIZE,
    SentenceEmbedder,
    batches_by_length,
)
from allennlp_semfit.pretrained.sentences_file import SentencesFile

__all__ = ["EmbeddingSummary", "embed_file", "progress_bar"]

logger = logging.getLogger(__name__)

# Sentences are sorted by length within a window. An interrupted run repeats its last window.
WINDOW_SENTENCES = 5_000
WINDOW_WORDS = 50_000

# The inputs of this many sentences identify the fastText file, which is too large to hash.
_NUM_PROBES = 100

# HDF5 stores the length of a string in 32 bits, of which quotes and indices need some.
_MAX_BYTES_OF_SENTENCES = 2**31


class EmbeddingSummary(NamedTuple):
    """
    `file_size` is in bytes. `words_per_second` does not count words that an interrupted run had
    embedded. `already_done` tells whether `out_file` already had these vectors.
    """

    num_sentences: int
    num_words: int
    file_size: int
    words_per_second: float = 0.0
    already_done: bool = False


def embed_file(
    embedder: SentenceEmbedder,
    sentences_file: Union[str, os.PathLike],
    out_file: Union[str, os.PathLike],
    *,
    layers: str = "all",
    dtype: str = "float32",
    batch_size: int = DEFAULT_BATCH_SIZE,
    forget_sentences: bool = False,
    force: bool = False,
) -> EmbeddingSummary:
    """
    Writes the vectors of the words in a file of sentences to an HDF5 file. The same call resumes an
    interrupted run.

    A killed process can leave an HDF5 file unreadable. So the vectors are first written to
    `<out_file>.unfinished`, and copied at the end. Memory holds a few thousand sentences and the
    vectors of a batch; at the end, unless `forget_sentences`, all sentences.

    # Parameters

    embedder : `SentenceEmbedder`
    sentences_file : `Union[str, os.PathLike]`
        UTF-8 text, one tokenised sentence per line.
    out_file : `Union[str, os.PathLike]`
        Gets a dataset for each line, including empty ones, named by the line's index from `"0"`.
    layers : `str`, optional (default = `"all"`)
        See `pool_layers`, which also gives the shape of a dataset.
    dtype : `str`, optional (default = `"float32"`)
        Or `"float16"`.
    batch_size : `int`, optional (default = `64`)
        See `batches_by_length`. It changes the vectors only by rounding.
    forget_sentences : `bool`, optional (default = `False`)
        Whether to omit the dataset `"sentence_to_index"`, shape `(1,)`: a JSON object that maps
        each sentence to the name of its dataset, a repeated sentence to its last one.
    force : `bool`, optional (default = `False`)
        Whether to replace `out_file` once the new one is complete.

    # Raises

    `ConfigurationError`
        If an option, the sentences or `out_file` cannot be used, or if `out_file` or the unfinished
        file was written with other arguments.
    """
    for name, value, allowed in (
        ("layers", layers, MODES),
        ("dtype", dtype, ("float32", "float16")),
    ):
        if value not in allowed:
            raise ConfigurationError(f"{name}: {value!r}; it takes one of {allowed}")
    if batch_size < 1:
        raise ConfigurationError(f"--batch-size: {batch_size}; it takes 1 or more")
    sentences, out = SentencesFile(Path(sentences_file)), Path(out_file)
    check_output_path(out, force=True)
    size = sentences.path.stat().st_size
    if size > _MAX_BYTES_OF_SENTENCES and not forget_sentences:
        raise ConfigurationError(
            f"{sentences.path}: its {format_size(size)} do not fit into `sentence_to_index`; add "
            "--forget-sentences to omit it"
        )
    summary = sentences.summarize()
    sha256, num_sentences, num_words = summary
    probes = (line.split() for line in islice(sentences, _NUM_PROBES))
    fingerprint = {
        "sentences_sha256": sha256,
        "model_sha256": embedder.model_fingerprint(),
        "input_sha256": embedder.input_fingerprint(probes),
        "layers": layers,
        "dtype": dtype,
        "sentence_to_index": not forget_sentences,
        "window_sentences": WINDOW_SENTENCES,
        "window_words": WINDOW_WORDS,
    }
    shape = [-1, embedder.get_output_dim()]
    if layers == "all":
        shape.insert(0, embedder.num_layers)
    bytes_per_word = abs(math.prod(shape)) * numpy.dtype(dtype).itemsize
    unfinished = out.with_name(f"{out.name}.unfinished")
    out.parent.mkdir(parents=True, exist_ok=True)
    with _lock(out):
        resumes = _read_fingerprint(unfinished) == fingerprint
        if out.exists() and not force:
            _check_fingerprint(out, fingerprint)
            if resumes:
                unfinished.unlink()
            return EmbeddingSummary(num_sentences, num_words, out.stat().st_size, already_done=True)
        if unfinished.exists() and not force:
            _check_fingerprint(unfinished, fingerprint)
        _check_disk(unfinished, num_words * bytes_per_word)
        if not resumes:
            with write_file(unfinished) as new:
                new.write_bytes(json.dumps(fingerprint).encode() + b"\n")

        def embed(batch: Sequence[Sequence[str]]) -> Iterator[bytes]:
            for vectors in embedder.embed_batch(batch):
                yield pool_layers(vectors, layers).astype(dtype, copy=False).tobytes()

        with unfinished.open("r+b") as file, _write_errors(out):
            start = time.monotonic()
            with progress_bar("embedding", num_words) as bar:
                embedded = _write_vectors(file, sentences, embed, bytes_per_word, batch_size, bar)
            words_per_second = embedded / (time.monotonic() - start)
            if sentences.summarize() != summary:
                raise ConfigurationError(
                    f"{sentences.path}: it changed during the run; repeat the command with --force"
                )
            # HDF5 can crash on a full disk.
            _check_disk(unfinished, num_words * bytes_per_word)
            file.seek(0)
            file.readline()
            with write_file(out) as new, h5py.File(new, "w") as hdf5:
                with progress_bar("copying", num_words) as bar:
                    for index, words in enumerate(map(str.split, sentences)):
                        values = numpy.frombuffer(file.read(len(words) * bytes_per_word), dtype)
                        hdf5[str(index)] = values.reshape(shape)
                        bar.update(len(words))
                if not forget_sentences:
                    indices = {line: str(index) for index, line in enumerate(sentences)}
                    hdf5.create_dataset("sentence_to_index", (1,), h5py.string_dtype())
                    hdf5["sentence_to_index"][0] = json.dumps(indices, ensure_ascii=False)
                hdf5.attrs.update(fingerprint)
        unfinished.unlink()
    return EmbeddingSummary(num_sentences, num_words, out.stat().st_size, words_per_second)


@contextmanager
def _lock(out: Path) -> Iterator[None]:
    lock_path = out.with_name(f".{out.name}.lock")
    try:
        lock = FileLock(str(lock_path), timeout=0).acquire()
    except Timeout:
        raise ConfigurationError(
            f"{out}: another process is writing it; wait for it to end, or give another name"
        ) from None
    with lock:
        try:
            yield
        finally:
            lock_path.unlink(missing_ok=True)


def _write_vectors(
    file: BinaryIO,
    sentences: SentencesFile,
    embed: Callable[[Sequence[Sequence[str]]], Iterator[bytes]],
    bytes_per_word: int,
    batch_size: int,
    bar: Any,
) -> int:
    """
    Appends the missing vectors to the unfinished file, in the order of the sentences. Returns the
    number of their words.
    """
    # Not `bar.initial` and `bar.n`, which a disabled bar lacks or does not update.
    resumed = embedded = 0
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    end = len(file.readline())
    for window in constrained_batches(
        map(str.split, sentences), WINDOW_WORDS, WINDOW_SENTENCES, strict=False
    ):
        lengths = [len(words) for words in window]
        *offsets, end = accumulate([end, *(length * bytes_per_word for length in lengths)])
        # Each window is flushed to the disk before the next, so only the last can be incomplete.
        if end < size:
            resumed += sum(lengths)
            bar.initial = resumed
            bar.update(sum(lengths))
            continue
        if resumed and not embedded:
            logger.info("Resuming after %s of %s words.", f"{resumed:,}", f"{bar.total:,}")
        for batch in batches_by_length(lengths, batch_size):
            for index, vectors in zip(batch, embed([window[index] for index in batch])):
                file.seek(offsets[index])
                file.write(vectors)
            bar.update(sum(lengths[index] for index in batch))
        file.flush()
        os.fsync(file.fileno())
        embedded += sum(lengths)
    return embedded


def _read_fingerprint(path: Path) -> Dict[str, Any]:
    """Reads the attributes of an HDF5 file, or the first line of an unfinished file."""
    with suppress(OSError), h5py.File(path, "r") as hdf5:
        return dict(hdf5.attrs)
    with suppress(OSError, ValueError, TypeError), path.open("rb") as file:
        return dict(json.loads(file.readline(10_000)))
    return {}


def _check_fingerprint(path: Path, expected: Dict[str, Any]) -> None:
    found = _read_fingerprint(path)
    if not expected.keys() <= found.keys():
        causes = ["by something other than `allennlp embed`"]
    else:
        explanations = {
            "sentences_sha256": "from other sentences",
            "model_sha256": "with another language model",
            "input_sha256": "with another fastText file, other boundary tokens, another setting of "
            "--autocast or, for a subword model, another tokenizer or --sub-token-mode",
            "layers": f"with --{found['layers']}, not --{expected['layers']}",
            "dtype": f"with --dtype {found['dtype']}, not {expected['dtype']}",
            "sentence_to_index": f"with{'out' if found['sentence_to_index'] else ''} "
            "--forget-sentences",
        }
        differences = [name for name in explanations if found[name] != expected[name]]
        # Other sentences or another model imply another input.
        if "input_sha256" in differences[1:]:
            differences.remove("input_sha256")
        causes = [explanations[name] for name in differences]
    if causes:
        raise ConfigurationError(
            f"{path}: it was made {', '.join(causes)}. Give another name, or --force to replace it"
        )


def _check_disk(unfinished: Path, size: int) -> None:
    needed = 2 * size - (unfinished.stat().st_size if unfinished.exists() else 0)
    free = shutil.disk_usage(unfinished.parent).free
    if needed > free:
        raise ConfigurationError(
            f"{unfinished.parent}: the vectors and their copy need {format_size(needed)} more, and "
            f"{format_size(free)} are free; make room, or use --top, --average, --normalized or "
            "--dtype float16"
        )


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{path}: it cannot be written ({str(error).splitlines()[0]}); make room, then repeat "
            "the command"
        ) from error


def progress_bar(description: str, num_words: int) -> Any:
    """Shows progress in words, less often with `--file-friendly-logging`."""
    return Tqdm.tqdm(
        total=num_words,
        desc=description,
        unit=" words",
        unit_scale=True,
        mininterval=10.0 if common_logging.FILE_FRIENDLY_LOGGING else 0.5,
        smoothing=0,  # the mean speed, because lengths vary
    )
