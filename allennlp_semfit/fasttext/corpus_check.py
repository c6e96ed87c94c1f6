"""
Checks the training text of `allennlp_semfit.fasttext.train` before fastText reads it.
"""

import logging
import re
from collections import Counter
from pathlib import Path
from typing import BinaryIO, Optional, Sequence, Set
from typing import Counter as CounterType

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.text_files import read_text
from allennlp_semfit.fasttext.model import ngram_hashes

logger = logging.getLogger(__name__)

# Characters that end a word for either `str.split` or fastText, but not for both.
_OTHER_SPACE = re.compile(r"[^\S \n]|\0")


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

    # Raises

    `ConfigurationError`
        If a file cannot be read or is not UTF-8, if there are no words, or if fewer than two words
        occur `min_count` times.
    """
    num_words = 0
    # Counting all words of a large corpus would take gigabytes.
    counts: CounterType[bytes] = Counter()
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
            f"{names}: fewer than two words occur --min-count = {min_count} times or more in its "
            f"{num_words:,} words; lower --min-count or give more text"
        )
    return num_words


class NgramCounter:
    """Counts the distinct n-grams of words, as long as there are fewer than `limit`."""

    def __init__(self, minn: int, maxn: int, limit: int) -> None:
        self._lengths = minn, maxn
        self._limit = limit
        self._words: Set[bytes] = set()
        self._hashes: Set[int] = set()

    @property
    def count(self) -> int:
        """The number of distinct n-grams, or `limit` if it is lower."""
        return min(len(self._hashes), self._limit)

    def add(self, words: Sequence[bytes]) -> None:
        for word in {*words} - self._words:
            if len(self._hashes) >= self._limit:
                return
            self._words.add(word)
            self._hashes.update(ngram_hashes(word, *self._lengths))
