"""Learns the subwords that a subword language model reads and predicts."""

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, NamedTuple, Optional, Sequence, Union

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from tokenizers.pre_tokenizers import ByteLevel

from allennlp_semfit.common.parallel import available_cpus
from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.vocabulary import VocabularyWriter
from allennlp_semfit.corpus.word_counts import count_words
from allennlp_semfit.subwords import bpe_worker
from allennlp_semfit.subwords.bpe_words import RESERVED, to_byte_level
from allennlp_semfit.subwords.tokenizer import SubwordTokenizer

__all__ = ["NAMESPACE", "BpeTrainingResult", "train_bpe"]

logger = logging.getLogger(__name__)

NAMESPACE = "subwords"
TOKENIZER = "tokenizer.json"
VOCABULARY = "vocabulary"


class BpeTrainingResult(NamedTuple):
    """
    # Parameters

    num_words : `int`
        The words of the corpus, each as often as it occurs.
    num_merges : `int`
        Fewer than were asked for if no other pair is frequent enough.
    subwords_per_word : `float`
        The mean over the words of the corpus.
    vocabulary_size : `int`
        The bytes, the boundary tokens and the merges; padding and `@@UNKNOWN@@` not.
    seconds : `float`
    """

    num_words: int
    num_merges: int
    subwords_per_word: float
    vocabulary_size: int
    seconds: float


def train_bpe(
    corpus: Sequence[Union[str, os.PathLike]],
    out_dir: Union[str, os.PathLike],
    *,
    merges: int = 30_000,
    min_frequency: int = 2,
    boundary_tokens: Sequence[str] = ("</s>",),
    num_workers: Optional[int] = None,
    force: bool = False,
) -> BpeTrainingResult:
    """
    Trains byte-level BPE, and writes `tokenizer.json`, in the format of Hugging Face's
    `tokenizers`, for `SubwordTokenizer`; and `vocabulary`, in which AllenNLP's `Vocabulary` has the
    subwords in the order of their ids, in the namespace `subwords`.

    Words are divided as the `language_modeling` reader does by default, and nothing else divides
    them. The same corpus gives the same files, whatever the number of workers.

    Words that hold a boundary token, or one of AllenNLP's own, teach nothing: no subword of a word
    must be one of these.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        Files, directories and globs of text, UTF-8, one tokenised sentence a line.
    out_dir : `Union[str, os.PathLike]`
        The directories above it are made if they are missing. Both results appear in it whole, once
        both are made.
    merges : `int`, optional (default = `30000`)
        How many subwords to make besides the 256 that are bytes.
    min_frequency : `int`, optional (default = `2`)
        How often a pair of subwords must occur to become one.
    boundary_tokens : `Sequence[str]`, optional (default = `("</s>",)`)
        Words that stay one subword: what the reader puts before and after each sentence.
    num_workers : `int`, optional (default = `None`)
        Processes that count words, and threads that merge: by default one for each CPU.
    force : `bool`, optional (default = `False`)
        Whether to replace what is already in `out_dir` under these two names.

    # Returns

    `BpeTrainingResult`

    # Raises

    `ConfigurationError`
        If an option or `out_dir` is wrong, which shows before the training, or the corpus cannot be
        read, or the training is cut off. Then nothing is left in `out_dir`, or what was there
        before.
    """
    started = time.monotonic()
    workers = available_cpus() if num_workers is None else num_workers
    boundaries = list(dict.fromkeys(boundary_tokens))
    _check_options(merges, min_frequency, boundaries, workers)
    out = Path(out_dir).resolve()
    _check_vacant(out, force=force)
    vocabulary = VocabularyWriter(out / VOCABULARY, NAMESPACE)
    files = find_text_files(corpus, exclude=[out / TOKENIZER, *vocabulary.paths])

    with _unfinished(out) as unfinished:
        counts = count_words(files, num_workers=workers).counts
        num_words = sum(counts.values())
        spelled_path = unfinished / "words"
        spelled = to_byte_level(counts, spelled_path, boundary_tokens=boundaries)
        made = unfinished / "made"
        made.mkdir()
        options = {
            "counts_path": str(spelled_path),
            "out_path": str(made / TOKENIZER),
            # Each merge makes one of the words shorter; room is taken for as many as are asked for.
            "merges": min(merges, spelled.distinct_bytes),
            "min_frequency": min_frequency,
            "boundary_tokens": boundaries,
        }
        logger.info("Training on %s words, with %d threads.", f"{spelled.num_words:,}", workers)
        _run_worker(options, num_words=spelled.num_words, num_threads=workers)
        tokenizer = SubwordTokenizer(made / TOKENIZER)
        VocabularyWriter(made / VOCABULARY, NAMESPACE).write(tokenizer.subwords)
        num_subwords = _count_subwords(tokenizer, counts)
        _publish(made, out)
    num_merges = len(tokenizer.subwords) - len(ByteLevel.alphabet()) - len(boundaries)
    if num_merges < merges:
        logger.info(
            "Made %s merges, not %s: no other pair of subwords occurs %d times.",
            f"{num_merges:,}",
            f"{merges:,}",
            min_frequency,
        )
    return BpeTrainingResult(
        num_words=num_words,
        num_merges=num_merges,
        subwords_per_word=num_subwords / num_words,
        vocabulary_size=len(tokenizer.subwords),
        seconds=time.monotonic() - started,
    )


def _check_options(
    merges: int, min_frequency: int, boundaries: Sequence[str], num_workers: int
) -> None:
    for option, value, minimum in (
        ("--merges", merges, 0),
        ("--min-frequency", min_frequency, 1),
        ("--num-workers", num_workers, 1),
    ):
        if not minimum <= value < 2**31:
            raise ConfigurationError(f"{option}: {value}; it takes {minimum} or more, below 2^31")
    alphabet = set(ByteLevel.alphabet())
    for token in boundaries:
        is_text = not re.search("[\ud800-\udfff]", token)
        if token.split() != [token] or not is_text or any(word in token for word in RESERVED):
            raise ConfigurationError(
                f"--boundary-tokens: {ascii(token)}; each is a word in UTF-8, without "
                f"{', '.join(RESERVED)}"
            )
        if token in alphabet:
            raise ConfigurationError(
                f"--boundary-tokens: {token!r}, which is the subword for a byte; take a longer one"
            )


def _check_vacant(out: Path, *, force: bool) -> None:
    place = _existing(out)
    if not place.is_dir():
        raise ConfigurationError(f"{place}: it is a file; name a directory for the subwords")
    if not os.access(place, os.W_OK):
        raise ConfigurationError(f"{place}: not writable; give the subwords another place")
    if place == out and not force and any(out.glob("[!.]*")):
        raise ConfigurationError(
            f"{out}: it is not empty; name another directory, or take --force, which replaces "
            f"{TOKENIZER} and {VOCABULARY} in it"
        )


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())


@contextmanager
def _unfinished(out: Path) -> Iterator[Path]:
    """A directory on the same disk as `out`, for what is not finished."""
    place = _existing(out)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-unfinished-", dir=place) as directory:
        yield Path(directory)


def _publish(made: Path, out: Path) -> None:
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        os.replace(made, out)
        return
    # The tokenizer goes first and comes last: it never stands beside a vocabulary not its own.
    (out / TOKENIZER).unlink(missing_ok=True)
    if (out / VOCABULARY).exists():
        os.replace(out / VOCABULARY, made.with_name("former"))
    for name in (VOCABULARY, TOKENIZER):
        os.replace(made / name, out / name)


def _run_worker(options: Dict[str, Any], *, num_words: int, num_threads: int) -> None:
    command = [sys.executable, bpe_worker.__file__, json.dumps(options)]
    environment = {
        **os.environ,
        # Without threads it takes time with the square of the number of words.
        "TOKENIZERS_PARALLELISM": "true",
        "RAYON_NUM_THREADS": str(num_threads),
    }
    last_message = ""
    progress = Tqdm.tqdm(total=num_words, unit="word", unit_scale=True, desc="reading words")
    with progress, subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in map(str.strip, process.stdout):
                if line.isdigit():
                    progress.update(int(line) - progress.n)
                    if progress.n == num_words:
                        logger.info("All words are read. Merging …")
                elif line:
                    last_message = line
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        code = process.returncode
        ending = f"signal {-code}" if code < 0 else last_message
        raise ConfigurationError(
            f"the training was cut off ({ending}); if memory ran out, give less text"
        )


def _count_subwords(tokenizer: SubwordTokenizer, counts: Dict[str, int]) -> int:
    return sum(
        count * len(tokenizer.intra_word_tokenize([word])[0])
        for word, count in Tqdm.tqdm(counts.items(), desc="counting subwords")
    )
