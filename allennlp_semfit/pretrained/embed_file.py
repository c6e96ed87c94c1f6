"""Vectors for a whole file of sentences."""

import logging
import os
import shutil
import time
from itertools import islice
from pathlib import Path
from typing import List, NamedTuple, Tuple, Union

import numpy
from allennlp.common import Tqdm
from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size

from allennlp_semfit.pretrained.fingerprint import Fingerprint, Part
from allennlp_semfit.pretrained.layer_pooling import MODES, pool_layers
from allennlp_semfit.pretrained.sentence_embedder import (
    DEFAULT_BATCH_SIZE,
    SentenceEmbedder,
    batches_by_length,
)
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from allennlp_semfit.pretrained.vectors_file import VectorsFile, check_place

__all__ = ["EmbeddingSummary", "embed_file"]

logger = logging.getLogger(__name__)

# What is sorted by length at a time, and lost if the program is killed.
WINDOW_SENTENCES = 5_000
WINDOW_WORDS = 50_000

# What they are to the language model stands for the identity of its fastText file or tokenizer.
_PROBED_SENTENCES = 100

# HDF5 keeps the length of a string in 32 bits, and quotes and indices take their share.
_MAX_BYTES_OF_SENTENCES = 2**31


class EmbeddingSummary(NamedTuple):
    """
    # Parameters

    num_sentences : `int`
    num_words : `int`
    file_size : `int`
        In bytes.
    words_per_second : `float`, optional (default = `0.0`)
        Of the words that were embedded now, and not by an interrupted run before.
    made_before : `bool`, optional (default = `False`)
        Whether there was nothing to do.
    """

    num_sentences: int
    num_words: int
    file_size: int
    words_per_second: float = 0.0
    made_before: bool = False


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
    Writes the vectors of the words of sentences to an HDF5 file. If it was interrupted, it goes on
    where it was, and the file becomes what it would have become.

    In memory are some thousand sentences and the vectors of a batch, whatever the file's size; at
    the end, unless `forget_sentences`, all sentences.

    # Parameters

    embedder : `SentenceEmbedder`
    sentences_file : `Union[str, os.PathLike]`
        UTF-8, one sentence a line, spaces between its words. It is read more than once.
    out_file : `Union[str, os.PathLike]`
        For each line it has a dataset, whose name is the line's number, counted from 0.
        An empty line has one too, of 0 words.
    layers : `str`, optional (default = `"all"`)
        See `pool_layers`. With `"all"` each dataset has the shape `(num_layers, length, dim)`,
        otherwise `(length, dim)`.
    dtype : `str`, optional (default = `"float32"`)
        Or `"float16"`.
    batch_size : `int`, optional (default = `64`)
        See `batches_by_length`. The vectors depend on it no more than by rounding: an interrupted
        run can go on with another.
    forget_sentences : `bool`, optional (default = `False`)
        Whether to leave out the dataset `"sentence_to_index"`, shape `(1,)`: a JSON object that
        gives the name of a sentence's dataset, the last one's if there are several.
    force : `bool`, optional (default = `False`)
        Whether to replace `out_file`, which stays until then.

    # Returns

    `EmbeddingSummary`

    # Raises

    `ConfigurationError`
        If an option, the sentences or the place for the file cannot be used, or if something else
        is there.
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
    check_place(out)
    _check_size(sentences, forget_sentences=forget_sentences)
    summary = sentences.summarize()
    probe = (line.split() for line in islice(sentences, _PROBED_SENTENCES))
    identity = Fingerprint(
        sentences_sha256=summary.sha256,
        num_sentences=summary.num_sentences,
        num_words=summary.num_words,
        model_sha256=embedder.model_fingerprint(),
        word_vectors_sha256=embedder.input_fingerprint(probe),
        layers=layers,
        dtype=dtype,
        sentence_to_index=not forget_sentences,
    )
    target = VectorsFile(out, identity)
    with target.locked():
        if not force and target.is_finished():
            return EmbeddingSummary(
                identity.num_sentences, identity.num_words, out.stat().st_size, made_before=True
            )
        target.check_vacant(force=force)
        _check_disk(target, embedder)
        start = time.monotonic()
        parts, num_embedded = _write_parts(target, embedder, sentences, batch_size)
        seconds = time.monotonic() - start
        target.join_parts(
            parts, None if forget_sentences else {line: str(i) for i, line in enumerate(sentences)}
        )
    return EmbeddingSummary(
        identity.num_sentences, identity.num_words, out.stat().st_size, num_embedded / seconds
    )


def _write_parts(
    target: VectorsFile, embedder: SentenceEmbedder, sentences: SentencesFile, batch_size: int
) -> Tuple[List[Part], int]:
    """Writes the parts that are not there yet. Returns all, and the number of words it embedded."""
    parts: List[Part] = []
    num_words = target.identity.num_words
    finished = target.finished_parts()
    words_before = sum(part.num_words for part in finished.values())
    if finished:
        logger.info(
            "Going on after an interruption: of %s words, %s have their vectors.",
            f"{num_words:,}",
            f"{words_before:,}",
        )
    progress = Tqdm.tqdm(
        total=num_words,
        initial=words_before,
        desc="embedding",
        unit=" words",
        unit_scale=True,
        mininterval=10.0 if common_logging.FILE_FRIENDLY_LOGGING else 0.5,
        # Sentences of one length come together: the mean over all says best when it will end.
        smoothing=0,
    )
    with progress:
        first = 0
        for number, window in enumerate(
            sentences.windows(max_sentences=WINDOW_SENTENCES, max_words=WINDOW_WORDS)
        ):
            lengths = [len(words) for words in window]
            part = Part(first, len(window), sum(lengths))
            parts.append(part)
            first += len(window)
            if finished.get(number) == part:
                continue
            with target.write_part(number, part) as add:
                for batch in batches_by_length(lengths, batch_size):
                    embedded = embedder.embed_batch([window[index] for index in batch])
                    for index, vectors in zip(batch, embedded):
                        joined = pool_layers(vectors, target.identity.layers)
                        add(part.first + index, joined.astype(target.identity.dtype, copy=False))
                    progress.update(sum(lengths[index] for index in batch))
    return parts, num_words - words_before


def _check_size(sentences: SentencesFile, *, forget_sentences: bool) -> None:
    size = sentences.path.stat().st_size
    if size > _MAX_BYTES_OF_SENTENCES and not forget_sentences:
        raise ConfigurationError(
            f"{sentences.path}: it is {format_size(size)}, and HDF5 has no room for so many "
            "sentences in `sentence_to_index`; add --forget-sentences, which leaves that out"
        )


def _check_disk(target: VectorsFile, embedder: SentenceEmbedder) -> None:
    identity = target.identity
    vectors_a_word = embedder.num_layers if identity.layers == "all" else 1
    bytes_a_vector = embedder.get_output_dim() * numpy.dtype(identity.dtype).itemsize
    size = identity.num_words * vectors_a_word * bytes_a_vector
    needed = 2 * size - target.bytes_in_parts()
    free = shutil.disk_usage(target.path.parent).free
    if needed > free:
        raise ConfigurationError(
            f"{target.path}: {format_size(needed)} are needed there until its parts are joined, "
            f"and {format_size(free)} are free; make room, or take --top, --average, "
            "--normalized or --dtype float16"
        )
