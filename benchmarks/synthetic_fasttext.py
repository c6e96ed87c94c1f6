"""Writes fastText models of any size with random vectors."""

import os
import struct
from pathlib import Path
from typing import List

import numpy

__all__ = ["write_fasttext"]

# Roughly in order of frequency in English.
_LETTERS = numpy.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", "u1")
_FORMAT = (793712314, 12)
_LEAST_LETTERS = 2
_MEAN_FURTHER_LETTERS = 6
_ROWS_AT_A_TIME = 10_000


def write_fasttext(path: Path, num_words: int, num_buckets: int, dim: int) -> None:
    """
    Writes a skip-gram model with n-grams of 3 to 6 characters. It has no output matrix, which
    readers of word vectors do not need. Words are random strings of 8 letters on average, with
    Zipfian counts.
    """
    random = numpy.random.default_rng(1)
    words = [b"</s>", *_words(num_words - 1, random)]
    counts = (num_words * 10 // numpy.arange(1, num_words + 1) + 1).tolist()
    # dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate, t
    arguments = (dim, 5, 5, 1, 5, 1, 2, 2, num_buckets, 3, 6, 100, 1e-4)
    # Number of entries, words and labels, tokens in the corpus, and no pruning.
    dictionary = (num_words, num_words, 0, sum(counts), -1)
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        file.write(struct.pack("<2i12id3i2q", *_FORMAT, *arguments, *dictionary))
        for word, count in zip(words, counts):
            file.write(word + b"\0" + struct.pack("<qb", count, 0))
        file.write(struct.pack("<?2q", False, num_words + num_buckets, dim))
        for start in range(0, num_words + num_buckets, _ROWS_AT_A_TIME):
            num_rows = min(_ROWS_AT_A_TIME, num_words + num_buckets - start)
            file.write(random.standard_normal((num_rows, dim), dtype="f4").tobytes())
        file.write(struct.pack("<?2q", False, 0, dim))
        # Only data on disk can be evicted from the page cache.
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _words(number: int, random: numpy.random.Generator) -> List[bytes]:
    """`number` distinct words."""
    chances = 1 / numpy.arange(3, 3 + len(_LETTERS))
    chances /= chances.sum()
    words: List[bytes] = []
    while len(words) < number:
        lengths = _LEAST_LETTERS + random.poisson(_MEAN_FURTHER_LETTERS, number)
        text = random.choice(_LETTERS, lengths.sum(), p=chances).tobytes()
        ends = lengths.cumsum().tolist()
        words += [text[start:end] for start, end in zip([0, *ends], ends)]
        words = list(dict.fromkeys(words))
    return words[:number]
