import numpy
import pytest
from scipy import stats

from experiments.collect_results import Run, _pairs, compare, evaluate_claims, resample_scores
from experiments.results import PAIRED_TASKS, f1


def counts_of(num_sentences, accuracy, seed):
    """Sentences with up to four answers, of which so many are right."""
    random = numpy.random.default_rng(seed)
    annotated = random.integers(1, 5, num_sentences)
    correct = random.binomial(annotated, accuracy)
    return numpy.stack([annotated, annotated, correct], axis=1)


def difference_of(runs, others, seed=1):
    one, other = resample_scores([runs, others], seed=seed)
    return one - other


def test_one_seed_has_the_interval_of_scipy():
    runs, others = counts_of(300, 0.8, 1), counts_of(300, 0.7, 2)
    expected = stats.bootstrap(
        (numpy.arange(300),),
        lambda indices: f1(runs[indices].sum(0)) - f1(others[indices].sum(0)),
        n_resamples=4000,
        method="percentile",
        vectorized=False,
        rng=3,
    )
    found = compare([{1: difference_of(runs, others)}])
    assert found["mean"] == pytest.approx(f1(runs.sum(0)) - f1(others.sum(0)))
    # The quantiles of 4,000 resamples have a standard error of a twentieth of the deviation.
    margin = 4 * expected.standard_error / 20
    assert found["low"] == pytest.approx(expected.confidence_interval.low, abs=margin)
    assert found["high"] == pytest.approx(expected.confidence_interval.high, abs=margin)


def test_seeds_that_differ_widen_the_interval():
    others = counts_of(500, 0.6, 2)
    same = {seed: difference_of(counts_of(500, 0.7, 1), others) for seed in (1, 2, 3)}
    narrow = compare([same])
    shifts = {1: -0.1, 2: 0.0, 3: 0.1}
    unlike = {seed: difference_of(counts_of(500, 0.7 + shifts[seed], 1), others) for seed in shifts}
    wide = compare([unlike])
    assert wide["high"] - wide["low"] > 1.5 * (narrow["high"] - narrow["low"])
    # Only the seeds of all tasks count.
    assert compare([{**same, 4: same[1] - 50}, same]) == narrow
    # What a seed adds to all tasks does not cancel out in their mean.
    assert compare([unlike, unlike]) == wide


def test_ours_are_compared_with_fasttext_and_others_of_as_many_minutes():
    names = ["elmo_semfit-5min", "bert-5min", "bert-15min", "none", "fasttext", "elmo_semfit"]
    names += ["elmo_semfit_contrastive-5min", "elmo_semfit_fasttext-5min"]
    assert list(_pairs(names)) == [
        ("elmo_semfit", "fasttext"),
        ("elmo_semfit", "bert-5min"),
        ("elmo_semfit", "bert-15min"),
        ("elmo_semfit-5min", "fasttext"),
        ("elmo_semfit-5min", "bert-5min"),
        ("elmo_semfit_contrastive-5min", "fasttext"),
        ("elmo_semfit_contrastive-5min", "bert-5min"),
        ("elmo_semfit_contrastive-5min", "elmo_semfit-5min"),
        ("elmo_semfit_fasttext-5min", "fasttext"),
        ("elmo_semfit_fasttext-5min", "elmo_semfit-5min"),
    ]


def test_a_comparison_needs_runs_of_both_in_all_its_tasks():
    better, worse = counts_of(400, 0.9, 1), counts_of(400, 0.6, 2)
    counts = {Run("bc5cdr", "elmo_semfit", 3, "all"): better}
    for seed in (1, 2):
        for group in ("all", "oov"):
            counts[Run("bc5cdr", "elmo_semfit", seed, group)] = better
        counts[Run("bc5cdr", "fasttext", seed, "all")] = worse
    # No row for the other group, nor for the mean of four tasks.
    (bc5cdr,) = evaluate_claims(counts)
    assert (bc5cdr["tasks"], bc5cdr["seeds"], bc5cdr["group"]) == (["bc5cdr"], 2, "all")
    assert 0 < bc5cdr["low"] < bc5cdr["mean"] < bc5cdr["high"]
    assert bc5cdr["mean"] == pytest.approx(f1(better.sum(0)) - f1(worse.sum(0)))
    for task in PAIRED_TASKS:
        counts[Run(task, "elmo_semfit", 1, "all")] = better
        counts[Run(task, "fasttext", 1, "all")] = worse
    mean = next(row for row in evaluate_claims(counts) if row["tasks"] == list(PAIRED_TASKS))
    assert (mean["seeds"], mean["mean"]) == (1, pytest.approx(bc5cdr["mean"]))
