"""Trains the subwords of a language model: byte-level BPE."""

import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union
from typing import Counter as CounterType

from allennlp.common import logging as common_logging
from allennlp.common.checks import ConfigurationError
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN
from tokenizers import pre_tokenizers

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.common.parallel import number_of_workers
from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN, find_text_files
from allennlp_semfit.corpus.vocabulary import check_boundary_tokens, write_vocabulary
from allennlp_semfit.corpus.word_counts import count_words
from allennlp_semfit.subwords import worker
from allennlp_semfit.subwords.tokenizer import SubwordTokenizer

logger = logging.getLogger(__name__)

NAMESPACE = "subwords"
TOKENIZER = "tokenizer.json"
VOCABULARY = "vocabulary"

# In characters. The time of a merge grows with the length of the words that contain it.
MAX_WORD_LENGTH = 1000
# `tokenizers` counts pairs in 32-bit integers and does not check for overflow.
MAX_PAIR_COUNT = 2**31 - 1


class BpeTrainingResult(NamedTuple):
    """
    `num_merges` is less than requested if too few pairs are frequent enough. `subwords_per_word` is
    the mean over the corpus. `vocabulary_size` excludes padding and `@@UNKNOWN@@`.
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
    boundary_tokens: Optional[Sequence[str]] = None,
    num_workers: Optional[int] = None,
    force: bool = False,
) -> BpeTrainingResult:
    """
    Trains byte-level BPE with Hugging Face's `tokenizers`. Writes `tokenizer.json`, for the
    `subword` tokenizer, and the directory `vocabulary`, with the subwords in the namespace
    `subwords`, in the order of their ids. The same text always gives the same subwords.

    Words are split at white space only, as the `language_modeling` reader does by default. Words
    that contain a boundary token or a special token of AllenNLP are ignored, so that no merge
    yields one. The result depends neither on the order of the words nor on `num_workers`.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        UTF-8 text with one tokenized sentence per line: files, directories (all files in them), or
        globs.
    out_dir : `Union[str, os.PathLike]`
        The output directory, created if missing.
    merges : `int`, optional (default = `30000`)
        The maximum number of subwords besides the 256 bytes.
    min_frequency : `int`, optional (default = `2`)
        How often a pair of subwords must occur to be merged.
    boundary_tokens : `Sequence[str]`, optional (default = `None`)
        The tokens that the reader adds to a sentence, each of which stays one subword; by default,
        `</s>`.
    num_workers : `int`, optional (default = `None`)
        The number of processes that count words and of threads that train; by default, one per CPU.
    force : `bool`, optional (default = `False`)
        Whether to replace `tokenizer.json` and `vocabulary` in `out_dir`.

    # Raises

    `ConfigurationError`
        If an option or `out_dir` is invalid, the corpus cannot be read or is too large, or the
        training process dies. `out_dir` is then unchanged.
    """
    started = time.monotonic()
    workers = number_of_workers(num_workers)
    check_bounds({"--merges": merges}, at_least=0)
    check_bounds({"--min-frequency": min_frequency}, at_least=1)
    if boundary_tokens is None:
        boundary_tokens = [DEFAULT_BOUNDARY_TOKEN]
    boundaries = list(dict.fromkeys(boundary_tokens))
    # Single bytes are subwords already.
    check_boundary_tokens("--boundary-tokens", boundaries, min_length=2)
    out = Path(out_dir).resolve()
    contents = (f"{VOCABULARY}/", TOKENIZER)
    check_output_path(out, contents=contents, force=force)
    files = find_text_files(corpus, outputs=[out / TOKENIZER, out / VOCABULARY])

    counts = count_words(files, num_workers=workers).counts
    words = _to_byte_level(counts, excluded=[*boundaries, DEFAULT_OOV_TOKEN])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    options = {
        # `tokenizers` allocates memory for all merges. Each merge shortens a word.
        "vocab_size": len(alphabet) + len(boundaries) + min(merges, sum(map(len, words))),
        "min_frequency": min_frequency,
        "special_tokens": boundaries,
        "initial_alphabet": alphabet,
        "show_progress": not common_logging.FILE_FRIENDLY_LOGGING,
    }
    logger.info("Training on %s distinct words.", f"{len(words):,}")
    tokenizer_json = _run_worker(words, options, num_threads=workers)
    with write_directory(out, contents, force=force) as directory:
        (directory / TOKENIZER).write_text(tokenizer_json, encoding="utf-8")
        tokenizer = SubwordTokenizer(directory / TOKENIZER)
        write_vocabulary(directory / VOCABULARY, NAMESPACE, tokenizer.subwords)
        num_subwords = sum(
            count * len(tokenizer.intra_word_tokenize([word])[0]) for word, count in counts.items()
        )
    num_words = sum(counts.values())
    return BpeTrainingResult(
        num_words=num_words,
        num_merges=len(tokenizer.subwords) - len(alphabet) - len(boundaries),
        subwords_per_word=num_subwords / num_words,
        vocabulary_size=len(tokenizer.subwords),
        seconds=time.monotonic() - started,
    )


def _to_byte_level(counts: Dict[str, int], excluded: Sequence[str]) -> Dict[str, int]:
    """Maps words, each with a leading space, to the symbols of byte-level BPE."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    words: CounterType[str] = Counter()
    for word, count in counts.items():
        for start in range(0, len(word), MAX_WORD_LENGTH):
            part = word[start : start + MAX_WORD_LENGTH]
            ((symbols, _),) = byte_level.pre_tokenize_str(part)
            if not any(token in word or token in symbols for token in excluded):
                words[symbols] += count
    pairs: CounterType[Tuple[str, str]] = Counter()
    for symbols, count in words.items():
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += count
    if max(pairs.values(), default=0) > MAX_PAIR_COUNT:
        raise ConfigurationError(
            f"the corpus is too large: a pair of bytes occurs more than {MAX_PAIR_COUNT:,} times, "
            "which is the limit of `tokenizers`; use fewer files"
        )
    return words


def _run_worker(words: Dict[str, int], options: Dict[str, Any], *, num_threads: int) -> str:
    """Returns the contents of `tokenizer.json`."""
    environment = {
        "PYTHONIOENCODING": "utf-8",
        # The modules next to the script must not shadow others.
        "PYTHONSAFEPATH": "1",
        # Without threads the training time is quadratic in the number of distinct words.
        "TOKENIZERS_PARALLELISM": "true",
        "RAYON_NUM_THREADS": str(num_threads),
    }
    process = subprocess.run(
        [sys.executable, worker.__file__],
        input=json.dumps([words, options]),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **environment},
    )
    if process.returncode:
        raise ConfigurationError(
            "the training process died, most likely for lack of memory; use fewer files"
        )
    return process.stdout
