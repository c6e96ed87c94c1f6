import math
from collections import Counter
from unittest.mock import patch

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common import text_files
from allennlp_semfit.static_vectors.svd import (
    conditional_probabilities,
    count_cooccurrences,
    positive_pmi,
)
from tests import TRAIN

CORPUS = sorted(TRAIN.iterdir())
# The last word does not occur.
WORDS = ["@@UNKNOWN@@", "</s>", "a", "b", "c", "z"]

# The words "d" and "\x1c", which separates words, are not among them; and there are empty lines.
LINES = st.lists(
    st.text(st.sampled_from("abcd \u3000"), max_size=12).map(" ".join), min_size=1, max_size=6
)


def pairs(lines, words, window):
    """Counts pair by pair."""
    known = set(words)
    counts = Counter()
    for line in lines:
        sentence = [word if word in known else words[0] for word in line.split()]
        if not sentence:
            continue
        sentence = ["</s>", *sentence, "</s>"]
        for i, word in enumerate(sentence):
            for follower in sentence[i + 1 : i + 1 + window]:
                counts[word, follower] += 1
    return counts


def dense(counts, words):
    return numpy.array([[counts[first, second] for second in words] for first in words])


@given(LINES, st.integers(1, 9), st.integers(1, 30))
def test_it_counts_each_pair(tmp_path_factory, lines, window, chunk_bytes):
    path = tmp_path_factory.mktemp("corpus") / "in.txt"
    path.write_text("\n".join([*lines, "a"]), "utf-8")
    with patch.object(text_files, "CHUNK_SIZE", chunk_bytes):
        cooccurrences = count_cooccurrences([path], WORDS, window=window)
    numpy.testing.assert_array_equal(
        cooccurrences.toarray(), dense(pairs([*lines, "a"], WORDS, window), WORDS)
    )


def test_workers_do_not_change_the_counts(monkeypatch):
    monkeypatch.setattr(text_files, "CHUNK_SIZE", 500)
    lines = [line for path in CORPUS for line in path.read_text("utf-8").split("\n")]
    words = ["@@UNKNOWN@@", *sorted({word for line in lines for word in line.split()})[::2], "</s>"]
    cooccurrences = count_cooccurrences(CORPUS, words, window=3, num_workers=3)
    assert cooccurrences.has_canonical_format
    numpy.testing.assert_array_equal(cooccurrences.toarray(), dense(pairs(lines, words, 3), words))


@pytest.fixture
def lines():
    return ["a b c a", "b b d", "", "c a b", "a"]


@pytest.fixture
def cooccurrences(lines, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n".join(lines))
    return count_cooccurrences([path], WORDS, window=2)


def test_ppmi_is_that_of_the_definition(cooccurrences, lines):
    counts = Counter()
    for (first, second), count in pairs(lines, WORDS, 2).items():
        counts[first, second] += count
        counts[second, first] += count
    total = sum(counts.values())
    expected = numpy.zeros((len(WORDS), len(WORDS)))
    occurrences = {
        word: sum(count for pair, count in counts.items() if pair[0] == word) for word in WORDS
    }
    smoothed = {word: occurrences[word] ** 0.75 for word in WORDS}
    for i, context in enumerate(WORDS):
        for j, word in enumerate(WORDS):
            if counts[context, word]:
                p_context = smoothed[context] / sum(smoothed.values())
                p_word = occurrences[word] / total
                pmi = math.log(counts[context, word] / total / p_context / p_word)
                expected[i, j] = max(pmi, 0)
    ppmi = positive_pmi(cooccurrences)
    numpy.testing.assert_allclose(ppmi.toarray(), expected, rtol=1e-6, atol=1e-7)
    assert ppmi.nnz == (expected > 0).sum() > 0
    assert ppmi.dtype == numpy.float32


def test_conditional_probabilities_are_those_of_the_next_and_of_the_previous_word(
    cooccurrences, lines
):
    counts = pairs(lines, WORDS, 2)
    expected = []
    for swap in (False, True):
        for context in WORDS:
            given_context = [counts[(word, context) if swap else (context, word)] for word in WORDS]
            expected.append([count / max(sum(given_context), 1) for count in given_context])
    probabilities = conditional_probabilities(cooccurrences)
    numpy.testing.assert_allclose(probabilities.toarray(), expected, rtol=1e-6)
    assert probabilities.dtype == numpy.float32
