"""Trains fastText vectors, the input and the targets of a Semfit language model."""

import json
import logging
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any, BinaryIO, Dict, Literal, NamedTuple, Optional, Sequence, Set, Union

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError, check_bounds
from allennlp_semfit.common.output import check_output_path, write_file
from allennlp_semfit.common.parallel import available_cpus
from allennlp_semfit.common.text_files import find_text_files, read_text
from allennlp_semfit.fasttext import worker
from allennlp_semfit.fasttext.model import FastTextModel, ngram_hashes

logger = logging.getLogger(__name__)

MINIMUM_THREADS = 11
"""
With fewer threads, fastText does not initialize all of its input matrix. In fastText 0.9, thread k
initializes n values from k · ⌊n/10⌋ to (k + 1) · ⌊n/10⌋, whatever the number of threads.
Uninitialized memory mostly contains zeros, sometimes NaN.
"""

# fastText's default.
_MAX_BUCKET = 2_000_000
# If fewer words are read, all vectors of a small text are nearly the same.
_WORDS_READ = 4_000_000
_MIN_PASSES, _MAX_PASSES = 5, 50
# Characters that end a word for either `str.split` or fastText, but not for both.
_OTHER_SPACE = re.compile(r"[^\S \n]|\0")


class FastTextTrainingResult(NamedTuple):
    """
    `num_words` is the number of words in the corpus, `epoch` the number of passes over it, and
    `dictionary_size` the number of words with a row of their own, including fastText's end of a
    sentence. `file_size` is in bytes.
    """

    num_words: int
    epoch: int
    dictionary_size: int
    file_size: int
    seconds: float


def train_fasttext(
    corpus: Sequence[Union[str, os.PathLike]],
    out_file: Union[str, os.PathLike],
    *,
    model: Literal["skipgram", "cbow"] = "skipgram",
    dim: int = 300,
    minn: int = 3,
    maxn: int = 6,
    bucket: Optional[int] = None,
    min_count: int = 5,
    epoch: Optional[int] = None,
    lr: float = 0.05,
    ws: int = 5,
    neg: int = 5,
    whiten: bool = False,
    threads: Optional[int] = None,
    force: bool = False,
) -> FastTextTrainingResult:
    """
    Trains unsupervised fastText vectors and saves them as a `.bin` file. The defaults are
    fastText's, except for `dim`, `bucket` and `epoch`. Threads update the vectors without locks, so
    two runs on the same text give slightly different vectors. No seed changes that.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        UTF-8 text with one tokenized sentence per line: files, directories (all files in them), or
        globs.

        fastText reads a temporary copy of all text on the disk of `out_file`.
    out_file : `Union[str, os.PathLike]`
        The output file, which must end in `.bin`.

        Its directory is created if missing. The file appears once it is complete.
    model : `Literal["skipgram", "cbow"]`, optional (default = `"skipgram"`)
        Whether to predict the context from a word (skipgram), or a word from its context (cbow).
    dim : `int`, optional (default = `300`)
        The dimension of the vectors.
    minn : `int`, optional (default = `3`)
        The length of the shortest n-gram, in characters.
    maxn : `int`, optional (default = `6`)
        The length of the longest n-gram. With 0 there are no n-grams, and `minn` and `bucket` are
        ignored.
    bucket : `int`, optional (default = `None`)
        The number of rows that all n-grams share, which are most of the file: 4 times `dim` bytes
        each. By default, as many as the corpus has different n-grams, but not more than fastText's
        default of 2,000,000.
    min_count : `int`, optional (default = `5`)
        How often a word must occur to have a row of its own.
    epoch : `int`, optional (default = `None`)
        The number of passes over the corpus. By default, enough to read four million words, but at
        least fastText's default of 5 and at most 50.
    lr : `float`, optional (default = `0.05`)
        The initial learning rate.
    ws : `int`, optional (default = `5`)
        The number of context words on each side.
    neg : `int`, optional (default = `5`)
        The number of negative samples per word.
    whiten : `bool`, optional (default = `False`)
        Whether to map the vectors linearly at the end, so that over the words of the corpus that
        occur `min_count` times, their mean is zero and their covariance the identity.
    threads : `int`, optional (default = `None`)
        The number of training threads; by default, one per CPU. At least 11 are used, because with
        fewer fastText leaves vectors uninitialized.
    force : `bool`, optional (default = `False`)
        Whether to replace an existing file.

    # Raises

    `ConfigurationError`
        If an option, `out_file` or the corpus is invalid, or the training fails. `out_file` is then
        unchanged.
    """
    started = time.monotonic()
    out = Path(out_file)
    if out.suffix != ".bin":
        # If OUT.bin is forgotten on the command line, the last file of the corpus takes its place.
        raise ConfigurationError(f"{out}: the name of the file of vectors must end in .bin")
    check_bounds({"--dim": dim, "--min-count": min_count, "--epoch": epoch}, at_least=1)
    check_bounds({"--ws": ws, "--neg": neg, "--threads": threads}, at_least=1)
    check_bounds({"--maxn": maxn}, at_least=0)
    check_bounds({"--lr": lr}, at_least=0, but_not=0)
    if maxn:
        check_bounds({"--bucket": bucket}, at_least=1)
        check_bounds({"--minn": minn}, at_least=0, at_most=maxn)
    check_output_path(out, force=force)
    files = find_text_files(corpus, outputs=[out])
    ngrams = NgramCounter(minn, maxn) if maxn and bucket is None else None
    with write_file(out) as unfinished:
        copy = unfinished.with_name("corpus")
        with copy.open("wb") as file:
            num_words = read_corpus(files, file, min_count=min_count, ngrams=ngrams)
        if ngrams is not None:
            bucket = min(max(len(ngrams.hashes), 1), _MAX_BUCKET)
        if epoch is None:
            epoch = min(max(math.ceil(_WORDS_READ / num_words), _MIN_PASSES), _MAX_PASSES)
        arguments = {
            "input": str(copy),
            "model": model,
            "dim": dim,
            "minn": minn if maxn else 0,
            "maxn": maxn,
            "bucket": (bucket or 0) if maxn else 0,
            "minCount": min_count,
            "epoch": epoch,
            "lr": lr,
            "ws": ws,
            "neg": neg,
            "thread": max(threads or available_cpus(), MINIMUM_THREADS),
            # By default, fastText skips words that begin with "__label__". No word has a line feed.
            "label": "\n",
            "verbose": 2,
        }
        logger.info(
            "Training on %s words, in %d passes with %d threads.",
            f"{num_words:,}",
            epoch,
            arguments["thread"],
        )
        _run_worker(arguments, whiten, out, unfinished)
        try:
            dictionary_size = len(FastTextModel(unfinished).words)
        except InvalidFileError as error:
            # fastText does not detect a full disk.
            raise ConfigurationError(
                f"{out}: it could not be written completely; make room, then repeat the command"
            ) from error
    return FastTextTrainingResult(
        num_words=num_words,
        epoch=epoch,
        dictionary_size=dictionary_size,
        file_size=out.stat().st_size,
        seconds=time.monotonic() - started,
    )


def _run_worker(arguments: Dict[str, Any], whiten: bool, out: Path, unfinished: Path) -> None:
    options = {"arguments": arguments, "whiten": whiten, "out_file": str(unfinished)}
    # The modules next to the script must not shadow others.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, worker.__file__, json.dumps(options)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env=environment, encoding="utf-8", errors="replace"
    ) as process:
        assert process.stderr is not None
        try:
            last_message = _show_progress(process.stderr)
        except BaseException:
            process.kill()
            raise
    if process.returncode < 0:
        last_message = (
            f"signal {-process.returncode}; if memory ran out, lower --dim or --bucket, or raise "
            "--min-count"
        )
    if process.returncode:
        raise ConfigurationError(f"{out}: the training failed: {last_message}")


def _show_progress(messages: IO[str]) -> str:
    """Shows fastText's progress as a bar, and returns its last other message."""
    last_message = ""
    bar_format = "{desc}: {percentage:5.1f}%|{bar}| {elapsed}<{remaining}{postfix}"
    with Tqdm.tqdm(total=100, desc="training fastText", bar_format=bar_format) as bar:
        for message in map(str.strip, messages):
            progress = re.match(r"Progress:\s*([\d.]+)%.*loss:\s*(\S+)", message)
            if progress:
                bar.set_postfix_str(f"loss {progress[2]}", refresh=False)
                bar.update(float(progress[1]) - bar.n)
            elif message:
                last_message = message
    return last_message


def read_corpus(
    files: Sequence[Path],
    copy: BinaryIO,
    *,
    min_count: int,
    ngrams: Optional["NgramCounter"] = None,
) -> int:
    """
    Reads and checks a corpus, because fastText would report problems late or not at all: with fewer
    than two words in its dictionary, its negative sampling never ends. Counts the n-grams with
    `ngrams`. Writes all text to `copy`, with a newline at the end of each file and spaces in place
    of characters that only `str.split` or only fastText splits at, such as no-break spaces or
    U+0000. Returns the number of words.

    Raises a `ConfigurationError` if a file is not UTF-8, if there are no words, or if fewer than
    two words occur `min_count` times.
    """
    num_words = 0
    # Counting all words of a large corpus would take gigabytes.
    counts: Counter[bytes] = Counter()
    has_two_frequent = False
    total = sum(path.stat().st_size for path in files)
    with Tqdm.tqdm(total=total, unit="B", unit_scale=True, desc="reading the corpus") as progress:
        for path in files:
            words_before = num_words
            for chunk in read_text(path, on_bytes=progress.update):
                text = _OTHER_SPACE.sub(" ", chunk).encode("utf-8")
                words = text.split()
                num_words += len(words)
                if not has_two_frequent:
                    counts.update(words)
                    most_common = [count for _, count in counts.most_common(2)]
                    has_two_frequent = len(most_common) == 2 and most_common[1] >= min_count
                if ngrams is not None:
                    ngrams.add(words)
                copy.write(text)
            if num_words == words_before:
                logger.warning("%s contains no words.", path)
    names = ", ".join(map(str, files[:3])) + (f" and {len(files) - 3} more" if files[3:] else "")
    if not num_words:
        raise ConfigurationError(f"{names}: no words found; give text with one sentence per line")
    if not has_two_frequent:
        raise ConfigurationError(
            f"{names}: fewer than two words occur --min-count = {min_count} times or more among "
            f"{num_words:,} words; lower --min-count or give more text"
        )
    return num_words


class NgramCounter:
    """The distinct n-grams of words, as long as there are fewer than `_MAX_BUCKET`."""

    def __init__(self, minn: int, maxn: int) -> None:
        self._lengths = minn, maxn
        self._words: Set[bytes] = set()
        self.hashes: Set[int] = set()

    def add(self, words: Sequence[bytes]) -> None:
        for word in {*words} - self._words:
            if len(self.hashes) >= _MAX_BUCKET:
                return
            self._words.add(word)
            self.hashes.update(ngram_hashes(word, *self._lengths))
