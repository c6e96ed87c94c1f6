"""Synthetic words with the frequencies and lengths of English words."""

import random
import string
from typing import Set

import torch
from allennlp.data import Vocabulary

__all__ = ["SizedVocabulary", "sample_classes", "word_for_class"]

# The rank at which the frequencies of English begin to fall more steeply.
_CROSSOVER = 6000


class SizedVocabulary(Vocabulary):
    """
    A vocabulary that has a size but no words, which is enough for a head and saves memory.

    # Parameters

    num_classes : `int`
        The number of words, including `@@UNKNOWN@@`.
    """

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
    softmax too slow.

    # Returns

    `torch.Tensor`
        Classes from 0, the most frequent, to `num_classes - 1`. Shape `(size,)`.
    """
    ranks = torch.arange(1, num_classes + 1, dtype=torch.double)
    weights = (1 / ranks).minimum(_CROSSOVER / ranks.square())
    bounds = weights.cumsum(0)
    draws = torch.rand(size, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    return torch.searchsorted(bounds, draws * bounds[-1]).clamp_max_(num_classes - 1)


def word_for_class(word_class: int) -> str:
    """A distinct word of 2 to 12 letters for each class. Rare words are longer."""
    letters = random.Random(word_class)
    code = ""
    rest = word_class
    while True:
        rest, letter = divmod(rest, 26)
        code += string.ascii_lowercase[letter]
        if not rest:
            break
    # The code is lower-case and the prefix upper-case, so words stay distinct.
    return "".join(letters.choices(string.ascii_uppercase, k=letters.randint(1, 7))) + code
