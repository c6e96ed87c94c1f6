"""Writes the vectors of a file of sentences to HDF5 or `.npy`."""

import json
import logging
import math
import os
import shutil
import time
from collections import deque
from contextlib import contextmanager
from itertools import accumulate, islice
from pathlib import Path
from typing import (
    Any,
    BinaryIO,
    Callable,
    Deque,
    Dict,
    Iterator,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)
from zlib import crc32

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size
from more_itertools import constrained_batches

from allennlp_semfit.common.errors import check_bounds, first_line
from allennlp_semfit.common.output import lock_output, remove_leftovers, write_file
from allennlp_semfit.pretrained.pooling import check_pooling, pool_layers, pool_words
from allennlp_semfit.pretrained.sentence_embedder import (
    DEFAULT_BATCH_SIZE,
    SentenceEmbedder,
    batches_by_length,
)
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from allennlp_semfit.pretrained.vectors_file import (
    add_checksum,
    check_vectors_path,
    is_intact,
    progress_bar,
    read_fingerprint,
    write_sentence_vectors,
    write_word_vectors,
)

__all__ = ["EmbeddingSummary", "embed_file"]

logger = logging.getLogger(__name__)

# Sentences are sorted by length within a window. An interrupted run repeats its last window.
WINDOW_SENTENCES = 5_000
WINDOW_WORDS = 50_000

# The inputs of this many sentences identify the fastText file, which is too large to hash.
_NUM_PROBES = 100

_CHECKSUM_BYTES = 4
_CHUNK_BYTES = 2**24

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
    pool: Optional[str] = None,
    dtype: str = "float32",
    batch_size: int = DEFAULT_BATCH_SIZE,
    forget_sentences: bool = False,
    force: bool = False,
) -> EmbeddingSummary:
    """
    Writes the vectors of the words in a file of sentences to an HDF5 file or, with `pool`, one
    vector for each sentence to an HDF5 or `.npy` file. The same call resumes an interrupted run.

    A killed process can leave an HDF5 file unreadable. So the vectors are first written to
    `<out_file>.unfinished`, with checksums, and copied at the end. Memory holds a few thousand
    sentences and the vectors of a batch; at the end, unless `forget_sentences`, all sentences.

    # Parameters

    embedder : `SentenceEmbedder`
    sentences_file : `Union[str, os.PathLike]`
        UTF-8 text, one tokenised sentence per line.
    out_file : `Union[str, os.PathLike]`
        Gets a dataset for each line, including empty ones, named by the line's index from `"0"`.
        With `pool`, an `.h5` file gets the dataset `"vectors"`, shape `(num_lines, dim)`, and an
        `.npy` file is this array; the vector of an empty line is zero.
    layers : `str`, optional (default = `"all"`)
        See `pool_layers`, which also gives the shape of a line's dataset.
    pool : `str`, optional (default = `None`)
        See `pool_words`, which also gives `dim`.
    dtype : `str`, optional (default = `"float32"`)
        Or `"float16"`.
    batch_size : `int`, optional (default = `64`)
        See `batches_by_length`. It changes the vectors only by rounding.
    forget_sentences : `bool`, optional (default = `False`)
        Whether to omit the dataset `"sentence_to_index"`, shape `(1,)`: a JSON object that maps
        each sentence to the name of its dataset, a repeated sentence to its last one. With `pool`,
        there is none.
    force : `bool`, optional (default = `False`)
        Whether to replace `out_file` once the new one is complete.

    # Raises

    `ConfigurationError`
        If an option, the sentences or `out_file` cannot be used, if `out_file` or the unfinished
        file was written with other arguments, or if `out_file` is damaged.
    """
    check_pooling(layers, "mean" if pool is None else pool)
    if dtype not in ("float32", "float16"):
        raise ConfigurationError(f"dtype: {dtype!r}; it takes 'float32' or 'float16'")
    check_bounds({"--batch-size": batch_size}, at_least=1)
    sentences, out = SentencesFile(Path(sentences_file)), Path(out_file)
    check_vectors_path(out, pool, [sentences.path])
    size = sentences.path.stat().st_size
    if size > _MAX_BYTES_OF_SENTENCES and pool is None and not forget_sentences:
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
        "pool": pool or "",
        "dtype": dtype,
        "sentence_to_index": pool is not None or not forget_sentences,
        "window_sentences": WINDOW_SENTENCES,
        "window_words": WINDOW_WORDS,
    }
    num_layers, dim = embedder.num_layers, embedder.get_output_dim()
    shape = (num_layers, -1, dim) if layers == "all" else (-1, dim)
    # The size of the vector of a word, or of a sentence if its words are pooled.
    vector_bytes = abs(math.prod(shape)) * numpy.dtype(dtype).itemsize
    num_vectors = num_words if pool is None else num_sentences
    unfinished = out.with_name(f"{out.name}.unfinished")
    header = json.dumps(fingerprint).encode() + b"\n"
    with lock_output(out):
        remove_leftovers(unfinished)
        resumes = _starts_with(unfinished, header)
        if out.exists() and not force:
            # HDF5 may read a damaged file for ever.
            if not is_intact(out):
                raise ConfigurationError(
                    f"{out}: it was made by something other than `allennlp embed`, or is damaged. "
                    "Give another name, or --force to replace it"
                )
            _check_fingerprint(out, fingerprint)
            if resumes:
                unfinished.unlink()
            return EmbeddingSummary(num_sentences, num_words, out.stat().st_size, already_done=True)
        # A damaged one is made again.
        if not force and read_fingerprint(unfinished):
            _check_fingerprint(unfinished, fingerprint)
        _check_disk(unfinished, num_vectors * vector_bytes)
        if not resumes:
            with write_file(unfinished) as new:
                new.write_bytes(header)

        def embed(batch: Sequence[Sequence[str]]) -> Iterator[bytes]:
            for vectors in embedder.embed_batch(batch):
                vectors = pool_layers(vectors, layers)
                if pool is not None:
                    vectors = pool_words(vectors, pool)
                yield vectors.astype(dtype, copy=False).tobytes()

        def size_of(num_words: int) -> int:
            return vector_bytes * (num_words if pool is None else 1)

        # Closing the file fails too, if the disk is full.
        with _write_errors(out), unfinished.open("r+b") as file:
            start = time.monotonic()
            with progress_bar("embedding", num_words) as bar:
                embedded, ends = _write_vectors(
                    file, len(header), sentences, embed, size_of, batch_size, bar
                )
            words_per_second = embedded / (time.monotonic() - start)
            if sentences.summarize() != summary:
                raise ConfigurationError(
                    f"{sentences.path}: it changed during the run; repeat the command with --force"
                )
            # HDF5 can crash on a full disk.
            _check_disk(unfinished, num_vectors * vector_bytes)
            file.seek(len(header))
            data = _WithoutChecksums(file, ends)
            with write_file(out) as new:
                if pool is None:
                    write_word_vectors(new, data, sentences, shape, dtype, num_words, fingerprint)
                else:
                    matrix = (num_sentences, embedder.get_sentence_dim(layers))
                    is_npy = out.suffix == ".npy"
                    write_sentence_vectors(new, data, matrix, dtype, fingerprint, is_npy)
                add_checksum(new)
        unfinished.unlink()
    return EmbeddingSummary(num_sentences, num_words, out.stat().st_size, words_per_second)


def _starts_with(path: Path, header: bytes) -> bool:
    # Others can make a link in a directory such as `/tmp`.
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(header)) == header


def _write_vectors(
    file: BinaryIO,
    end: int,
    sentences: SentencesFile,
    embed: Callable[[Sequence[Sequence[str]]], Iterator[bytes]],
    size_of: Callable[[int], int],
    batch_size: int,
    bar: Any,
) -> Tuple[int, Deque[int]]:
    """
    Writes the vectors that the unfinished file lacks, after its header, which ends at `end`. They
    are in the order of the sentences, with a checksum after each window. `size_of` gives the bytes
    of the vectors of a sentence from its number of words. Returns the number of embedded words, and
    where the vectors of each window end.
    """
    # Not `bar.initial` and `bar.n`, which a disabled bar lacks or does not update.
    resumed = embedded = 0
    ends: Deque[int] = deque()
    for window in constrained_batches(
        map(str.split, sentences), WINDOW_WORDS, WINDOW_SENTENCES, strict=False
    ):
        lengths = [len(words) for words in window]
        *offsets, end = accumulate([end, *map(size_of, lengths)])
        ends.append(end)
        checksum = _checksum(file, offsets[0], end)
        end += len(checksum)
        if file.read(len(checksum)) == checksum:
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
        file.write(_checksum(file, offsets[0], ends[-1]))
        file.flush()
        os.fsync(file.fileno())
        embedded += sum(lengths)
    return embedded, ends


def _checksum(file: BinaryIO, start: int, end: int) -> bytes:
    """Reads the bytes from `start` to `end`, and leaves the file there."""
    # It begins with their place, so that no others match, nor the zeros that a crash can leave.
    checksum = crc32(b"%d" % start)
    file.seek(start)
    for position in range(start, end, _CHUNK_BYTES):
        checksum = crc32(file.read(min(_CHUNK_BYTES, end - position)), checksum)
    file.seek(end)
    return checksum.to_bytes(_CHECKSUM_BYTES, "little")


class _WithoutChecksums:
    """Reads the vectors of the unfinished file. The windows end at `ends`."""

    def __init__(self, file: BinaryIO, ends: Deque[int]) -> None:
        self._file = file
        self._ends = ends

    def read(self, size: int) -> bytes:
        parts = []
        while self._ends:
            parts.append(self._file.read(min(size, self._ends[0] - self._file.tell())))
            size -= len(parts[-1])
            if not size:
                break
            self._ends.popleft()
            self._file.seek(_CHECKSUM_BYTES, os.SEEK_CUR)
        return b"".join(parts)


def _check_fingerprint(path: Path, expected: Dict[str, Any]) -> None:
    found = read_fingerprint(path)
    if not expected.keys() <= found.keys():
        causes = ["by something other than `allennlp embed`, or is damaged"]
    else:
        explanations = {
            "sentences_sha256": "from other sentences",
            "model_sha256": "with another language model",
            "input_sha256": "with another fastText file, other boundary tokens, another setting of "
            "--autocast or, for a subword model, another tokenizer or --sub-token-mode",
            "layers": f"with --{found['layers']}, not --{expected['layers']}",
            "pool": ", not ".join(
                f"with --pool {pool}" if pool else "without --pool"
                for pool in (found["pool"], expected["pool"])
            ),
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
            f"{path}: it cannot be written ({first_line(error)}); make room, then repeat the "
            "command"
        ) from error
