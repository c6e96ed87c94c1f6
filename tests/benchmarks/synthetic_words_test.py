import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.synthetic_words import SizedVocabulary, sample_classes, word_for_class


@pytest.mark.parametrize("num_classes", [40_000, 800_000])
def test_words_are_as_frequent_as_the_law_says(num_classes):
    ranks = torch.arange(1, num_classes + 1, dtype=torch.double)
    law = torch.where(ranks < 6000, 1 / ranks, 6000 / ranks**2)
    law /= law.sum()
    size = 200_000
    classes = sample_classes(num_classes, size)
    assert (classes.min() >= 0, classes.max() < num_classes) == (True, True)
    for low, high in [(0, 1), (1, 10), (10, 1000), (1000, 6000), (6000, 20_000), (20_000, 40_000)]:
        expected = law[low:high].sum().item()
        found = ((classes >= low) & (classes < high)).double().mean().item()
        assert found == pytest.approx(expected, abs=5 * (expected / size) ** 0.5)


def test_each_call_draws_the_same_words():
    assert torch.equal(sample_classes(100, 50), sample_classes(100, 50))


@given(st.lists(st.integers(0, 3_000_000), unique=True, min_size=2))
def test_no_two_words_are_the_same(classes):
    words = [word_for_class(word_class) for word_class in classes]
    assert len(set(words)) == len(words)
    assert all(2 <= len(word) <= 12 for word in words)


def test_the_vocabulary_has_its_size_and_padding():
    vocab = SizedVocabulary(7)
    assert vocab.get_vocab_size("tokens") == 8
    assert vocab.is_padded("tokens")
