"""Writes the vectors of a file of sentences to HDF5 or `.npy`."""

import hashlib
import json
import logging
import math
import os
import shutil
import time
from contextlib import suppress
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Dict, Iterator, Literal, NamedTuple, Optional, Sequence, Union

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size

from allennlp_semfit.common.errors import check_bounds, check_choice
from allennlp_semfit.common.output import write_file
from allennlp_semfit.export.sentences_file import SentencesFile
from allennlp_semfit.export.vectors_file import (
    check_vectors_path,
    progress_bar,
    write_sentence_vectors,
    write_word_vectors,
)
from allennlp_semfit.pretrained.pooling import Pool, check_pooling, pool_layers, pool_words
from allennlp_semfit.pretrained.sentence_embedder import (
    DEFAULT_BATCH_SIZE,
    SentenceEmbedder,
    batches_by_length,
    windows_of,
)

logger = logging.getLogger(__name__)

_RUN = "run.json"
# Matches the windows of an unfinished run, but not their digests.
_WINDOWS = "*[0-9]"


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
    layers: str = "all",
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
    interrupted run. Until it is complete, the vectors are in a directory with the suffix
    `.unfinished`; copying them takes twice the space.

    The directory has a file for each window of sentences. Memory holds a few thousand sentences and
    the vectors of a batch; at the end, unless `forget_sentences`, all sentences.

    # Parameters

    embedder : `SentenceEmbedder`
    sentences_file : `Union[str, os.PathLike]`
        UTF-8 text, one tokenized sentence per line.
    out_file : `Union[str, os.PathLike]`
        The output file, such as `vectors.h5`.

        The dataset of an empty line has length 0.
    layers : `str`, optional (default = `"all"`)
        See `pool_layers`, which also gives the shape of a line's dataset.
    pool : `Literal["mean", "max", "first"]`, optional (default = `None`)
        Whether to write one vector per sentence: the mean or the maximum of the vectors of its
        words, or that of its first word; zeros for an empty line. If the layers are not pooled, it
        has them side by side.
    dtype : `Literal["float32", "float16"]`, optional (default = `"float32"`)
        The type of the vectors' elements. `"float16"` takes half the space.
    batch_size : `int`, optional (default = `64`)
        See `batches_by_length`. It changes the vectors only by rounding.
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
        written with other arguments or are damaged.
    """
    check_pooling(layers, "mean" if pool is None else pool)
    check_choice("dtype", dtype, ("float32", "float16"))
    check_bounds({"--batch-size": batch_size}, at_least=1)
    sentences, out = SentencesFile(Path(sentences_file)), Path(out_file)
    check_vectors_path(out, pool, [sentences.path], force=force)
    num_sentences, num_words = sentences.summarize()
    run = {
        "sentences": list(sentences.identify()),
        "language model or options of it": embedder.identify(),
        "options": [layers, pool, dtype],
    }
    num_layers, dim = embedder.num_layers, embedder.get_output_dim()
    shape = (num_layers, -1, dim) if layers == "all" else (-1, dim)
    # The number of elements for a word or, with `pool`, for a sentence.
    vector_size = abs(math.prod(shape))
    vector_bytes = vector_size * numpy.dtype(dtype).itemsize
    size = vector_bytes * (num_words if pool is None else num_sentences)
    unfinished = out.with_name(f"{out.name}.unfinished")

    def count(words: Sequence[str]) -> int:
        return len(words) if pool is None else 1

    def embed_window(path: Path, window: Sequence[Sequence[str]]) -> None:
        starts = [0, *accumulate(vector_bytes * count(words) for words in window)]
        with write_file(path) as new, new.open("w+b") as file:
            for batch in batches_by_length(list(map(len, window)), batch_size):
                words = [window[index] for index in batch]
                for index, vectors in zip(batch, embedder.embed_batch(words)):
                    vectors = pool_layers(vectors, layers)
                    if pool is not None:
                        vectors = pool_words(vectors, pool)
                    file.seek(starts[index])
                    file.write(vectors.astype(dtype, copy=False).tobytes())
                bar.update(sum(map(len, words)))
            path.with_suffix(".digest").write_text(_digest(file))

    def stored_vectors() -> Iterator[numpy.ndarray]:
        for number, window in enumerate(windows_of(map(str.split, sentences))):
            path = unfinished / str(number)
            with path.open("rb") as file:
                if _digest(file) != path.with_suffix(".digest").read_text():
                    raise ConfigurationError(
                        f"{path}: it is damaged; remove {unfinished}, and repeat the command"
                    )
                for words in window:
                    vectors = numpy.frombuffer(file.read(vector_bytes * count(words)), dtype)
                    yield vectors if pool is not None else vectors.reshape(shape)
                    bar.update(len(words))

    out.parent.mkdir(parents=True, exist_ok=True)
    found = _read_run(unfinished / _RUN)
    if found and not force:
        _check_run(unfinished, found, run)
    _check_disk(unfinished, size)
    if found != run:
        _remove(unfinished)
        with write_file(unfinished / _RUN) as new:
            new.write_text(json.dumps(run))
    start = time.monotonic()
    windows = enumerate(windows_of(map(str.split, sentences)))
    done = islice(windows, sum(1 for _ in unfinished.glob(_WINDOWS)))
    resumed = sum(len(words) for _, window in done for words in window)
    if resumed:
        logger.info("Resuming after %s of %s words.", f"{resumed:,}", f"{num_words:,}")
    with progress_bar("embedding", num_words) as bar:
        bar.initial = resumed
        bar.update(resumed)
        for number, window in windows:
            embed_window(unfinished / str(number), window)
    words_per_second = (num_words - resumed) / (time.monotonic() - start)
    with write_file(out) as new, progress_bar("copying", num_words) as bar:
        if pool is None:
            index = None if forget_sentences else sentences
            write_word_vectors(new, stored_vectors(), index)
        else:
            matrix = (num_sentences, vector_size)
            write_sentence_vectors(new, stored_vectors(), matrix, dtype)
    _remove(unfinished)
    return EmbeddingSummary(num_sentences, num_words, out.stat().st_size, words_per_second)


def _digest(file: Any) -> str:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    return digest


def _remove(unfinished: Path) -> None:
    # The directory is not resumed without this file, even if it is removed only in part.
    (unfinished / _RUN).unlink(missing_ok=True)
    shutil.rmtree(unfinished, ignore_errors=True)


def _read_run(path: Path) -> Dict[str, Any]:
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(path.read_text()))
    return {}


def _check_run(unfinished: Path, found: Dict[str, Any], expected: Dict[str, Any]) -> None:
    differences = [name for name, value in expected.items() if found.get(name) != value]
    if differences:
        raise ConfigurationError(
            f"{unfinished}: it has vectors of a run with other {', '.join(differences)}; give "
            "another name, or --force to replace them"
        )


def _check_disk(unfinished: Path, size: int) -> None:
    needed = 2 * size - sum(path.stat().st_size for path in unfinished.glob(_WINDOWS))
    free = shutil.disk_usage(unfinished.parent).free
    if needed > free:
        raise ConfigurationError(
            f"{unfinished.parent}: the vectors and their copy need {format_size(needed)} more, and "
            f"{format_size(free)} are free; make room, or use --top, --average, --normalized or "
            "--dtype float16"
        )
