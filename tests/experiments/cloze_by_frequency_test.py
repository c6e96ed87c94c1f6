import json
from collections import Counter
from itertools import permutations
from statistics import mean

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments import cloze_by_frequency
from experiments.cloze_by_frequency import (
    BUCKETS,
    ClozeTargets,
    bucket_index,
    bucket_label,
    evaluate,
    main,
    reciprocal_rank,
    sample_targets,
)
from tests import FIXTURES
from tests.language_models import write_language_model

HELDOUT = FIXTURES / "corpus" / "heldout.txt"
TRAIN = FIXTURES / "corpus" / "train"

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=8)


@pytest.mark.parametrize(
    ("counts", "name"),
    [
        ((0,), "0"),
        ((1, 2), "1–2"),
        ((3, 9), "3–9"),
        ((10, 99), "10–99"),
        ((100, 999), "100–999"),
        ((1000, 10**9), "1000+"),
    ],
)
def test_a_bucket_has_these_counts(counts, name):
    assert {bucket_label(bucket_index(count)) for count in counts} == {name}


@given(scores=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_equals_are_ranked_by_chance(scores):
    ranks = []
    for order in permutations(range(len(scores))):
        ranked = sorted(order, key=lambda index: -scores[index])
        ranks.append(1 + ranked.index(0))
    found = reciprocal_rank(torch.tensor([scores], dtype=torch.float))
    assert found.item() == pytest.approx(mean(1 / each for each in ranks))


@given(
    sentences=SENTENCES,
    counts=st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(1, 2000)),
    num_targets=st.integers(0, 60),
    num_candidates=st.integers(1, 15),
    seed=st.integers(0, 2**32),
)
def test_targets_are_words_of_the_text_among_others_once_each(
    sentences, counts, num_targets, num_candidates, seed
):
    options = {"num_targets": num_targets, "num_candidates": num_candidates, "seed": seed}
    words, drawn = sample_targets(sentences, counts, **options)
    assert words == sorted({*counts, *(word for sentence in sentences for word in sentence)})
    buckets = [bucket_index(counts.get(word, 0)) for word in words]
    tokens = Counter(bucket_index(counts.get(word, 0)) for words in sentences for word in words)
    assert len(drawn) == len(BUCKETS)
    for bucket, targets in enumerate(drawn):
        assert len(targets.locations) == len(set(targets.locations))
        assert len(targets.locations) == min(num_targets // len(BUCKETS), tokens[bucket])
        for kind, available in (
            (targets.candidates, len(words)),
            (targets.same_frequency, buckets.count(bucket)),
        ):
            assert kind.shape == (len(targets.locations), min(num_candidates, available))
            for (sentence, position), row in zip(targets.locations, kind.tolist()):
                assert words[row[0]] == sentences[sentence][position]
                assert buckets[row[0]] == bucket
                assert len(set(row)) == len(row)
        assert all(
            buckets[index] == bucket for row in targets.same_frequency.tolist() for index in row
        )
    again = sample_targets(sentences, counts, **options)[1]
    assert all(
        one.locations == other.locations
        and torch.equal(one.candidates, other.candidates)
        and torch.equal(one.same_frequency, other.same_frequency)
        for one, other in zip(drawn, again)
    )


class Oracle:
    """Finds the words of the even sentences, by what is before them alone."""

    def contexts(self, sentences, locations):
        return torch.tensor([[[sentence % 2], [1]] for sentence, _ in locations])

    def __call__(self, contexts):
        scores = torch.zeros(len(contexts), 10)
        scores[:, 0] = 1 - 2 * contexts[:, 0]
        return scores


def test_a_bucket_has_the_means_of_its_targets_over_both_directions():
    def targets(*sentences):
        locations = [(sentence, 0) for sentence in sentences]
        candidates, same_frequency = (
            torch.arange(number).expand(len(locations), number) for number in (10, 4)
        )
        return ClozeTargets(locations, candidates, same_frequency)

    none = targets()
    drawn = [targets(0, 2), none, targets(1), targets(*range(100)), none, none]
    rows = evaluate(Oracle(), [], drawn)
    assert [(row["bucket"], row["count"]) for row in rows] == [("0", 2), ("3–9", 1), ("10–99", 100)]
    for row, share in zip(rows, (1 / 2, 0, 1 / 4)):
        assert row["mrr"] == pytest.approx(share + (1 - share) / 10)
        assert row["mrr_same_frequency"] == pytest.approx(share + (1 - share) / 4)


@pytest.fixture
def arguments(tmp_path):
    archive = write_language_model(tmp_path / "elmo_adaptive", "fasttext", archive=True)
    return [str(path) for path in (archive, HELDOUT, TRAIN, tmp_path / "results" / "out.json")]


def test_an_archive_is_measured(arguments, tmp_path, monkeypatch):
    monkeypatch.setattr(cloze_by_frequency, "NUM_CANDIDATES", 7)
    main(arguments)
    result = json.loads((tmp_path / "results" / "out.json").read_text("utf-8"))
    num_words = len(HELDOUT.read_text("utf-8").split())
    assert sum(row["count"] for row in result["rows"]) == num_words
    assert all(1 / 7 <= row["mrr"] <= 1 for row in result["rows"])


@pytest.mark.parametrize(
    ("location", "message"),
    [
        (0, "Language model .*missing does not exist"),
        (1, "missing: there is no such file"),
        (2, "missing: there is no such file"),
    ],
)
def test_what_is_missing_is_said_before_the_model_is_loaded(
    location, message, arguments, monkeypatch
):
    monkeypatch.setattr(cloze_by_frequency, "load_archive", None)
    arguments[location] = "missing"
    with pytest.raises(SystemExit, match=f"^cloze_by_frequency: {message}.*$"):
        main(arguments)


def test_a_language_model_of_subwords_is_refused(arguments, tmp_path):
    arguments[0] = str(write_language_model(tmp_path / "subwords", "subwords", archive=True))
    with pytest.raises(
        SystemExit, match="^cloze_by_frequency: the language model reads .*subwords"
    ):
        main(arguments)
