"""Synthetic words with the frequencies and lengths of English words, and fastText models."""

import os
import random
import string
import struct
from pathlib import Path
from typing import Set

import numpy
import torch
from allennlp.data import Vocabulary

# The rank at which the frequencies of English begin to fall more steeply.
_CROSSOVER = 6000


class SizedVocabulary(Vocabulary):
    """Has a size, with `@@UNKNOWN@@`, but no words: enough for a head, and saves memory."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self._size = num_classes + 1

    def get_namespaces(self) -> Set[str]:
        return {"tokens"}

    def get_vocab_size(self, namespace: str = "tokens") -> int:
        return self._size


def sample_classes(num_classes: int, size: int) -> torch.Tensor:
    """
    Samples words, the same each time, from Zipf's law with the two regimes of Ferrer i Cancho and
    Solé 2001 ("Two Regimes in the Frequency of Words and the Origins of Complex Lexicons"):
    frequencies are proportional to the inverse of the rank, and beyond the 6,000th word to its
    inverse square. With a single regime, rare words would be far too frequent, and an adaptive
    softmax too slow. Returns classes from 0, the most frequent, to `num_classes - 1`.
    """
    ranks = torch.arange(1, num_classes + 1, dtype=torch.double)
    weights = (1 / ranks).minimum(_CROSSOVER / ranks.square())
    bounds = weights.cumsum(0)
    draws = torch.rand(size, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    return torch.searchsorted(bounds, draws * bounds[-1]).clamp_max_(num_classes - 1)


def word_for_class(word_class: int) -> str:
    """A distinct word of 2 to 12 letters for each class. Rare words are longer."""
    letters = random.Random(word_class)
    # The code is lower-case and the prefix upper-case, so words stay distinct.
    code = "".join(
        string.ascii_lowercase[int(digit, 26)] for digit in numpy.base_repr(word_class, 26)
    )
    return "".join(letters.choices(string.ascii_uppercase, k=letters.randint(1, 7))) + code


def write_fasttext(path: Path, num_words: int, num_buckets: int, dim: int) -> None:
    """
    Writes a skip-gram model with random vectors of the first words and of n-grams of 3 to 6
    characters. It has no output matrix, which readers of word vectors do not need.
    """
    generator = numpy.random.default_rng(1)
    counts = [num_words * 10 // rank + 1 for rank in range(1, num_words + 1)]
    # dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate, t
    arguments = (dim, 5, 5, 1, 5, 1, 2, 2, num_buckets, 3, 6, 100, 1e-4)
    # Number of entries, words and labels, tokens in the corpus, and no pruning.
    dictionary = (num_words, num_words, 0, sum(counts), -1)
    with path.open("wb") as file:
        # The magic number, and the version of the format.
        file.write(struct.pack("<2i12id3i2q", 793712314, 12, *arguments, *dictionary))
        for number, count in enumerate(counts):
            word = word_for_class(number - 1) if number else "</s>"
            file.write(word.encode() + b"\0" + struct.pack("<qb", count, 0))
        rows = num_words + num_buckets
        file.write(struct.pack("<?2q", False, rows, dim))
        for start in range(0, rows, 10_000):
            shape = (min(10_000, rows - start), dim)
            file.write(generator.standard_normal(shape, dtype="f4").tobytes())
        file.write(struct.pack("<?2q", False, 0, dim))
        # Only data on disk can be evicted from the page cache.
        file.flush()
        os.fsync(file.fileno())
