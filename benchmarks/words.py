"""Made-up words, as frequent and as long as those of English, by falling frequency."""

import random
import string
from typing import Set

import torch
from allennlp.data import Vocabulary

__all__ = ["SizedVocabulary", "sample_classes", "spell"]

# Where the frequencies of English begin to fall more steeply.
_CROSSOVER = 6000


class SizedVocabulary(Vocabulary):
    """
    The vocabulary of a head, which wants its size only. The words would take more memory than
    some of the models.

    # Parameters

    num_classes : `int`
        The words that a head chooses from, `@@UNKNOWN@@` among them.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self._size = num_classes + 1

    def get_namespaces(self) -> Set[str]:
        return {"tokens"}

    def get_vocab_size(self, namespace: str = "tokens") -> int:
        return self._size


def sample_classes(num_classes: int, size: int, seed: int = 1) -> torch.Tensor:
    """
    Draws words from Zipf's law with the two regimes that Ferrer i Cancho and Solé 2001 ("Two
    Regimes in the Frequency of Words and the Origins of Complex Lexicons") found in English:
    frequencies fall with the rank, and beyond the 6,000th word with its square. With one regime the
    100,000th word of 800,000 and what follows it would be a seventh of all text, where it is less
    than a hundredth, and an adaptive softmax would look slower than it is.

    # Returns

    `torch.Tensor`
        Classes from 0, the most frequent, to `num_classes - 1`. Shape `(size,)`.
    """
    ranks = torch.arange(1, num_classes + 1, dtype=torch.double)
    weights = (1 / ranks).minimum(_CROSSOVER / ranks.square())
    bounds = weights.cumsum(0)
    draws = torch.rand(size, dtype=torch.double, generator=torch.Generator().manual_seed(seed))
    return torch.searchsorted(bounds, draws * bounds[-1]).clamp_max_(num_classes - 1)


def spell(word_class: int) -> str:
    """A word for a class, another for each, and the longer the rarer: two to a dozen letters."""
    letters = random.Random(word_class)
    code = ""
    rest = word_class
    while True:
        rest, letter = divmod(rest, 26)
        code += string.ascii_lowercase[letter]
        if not rest:
            break
    # The code of a class has no capital: what is before it makes no two words the same.
    return "".join(letters.choices(string.ascii_uppercase, k=letters.randint(1, 7))) + code
