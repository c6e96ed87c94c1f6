import numpy
import pytest
from scipy import stats

from experiments.claims import (
    Claim,
    Difference,
    Run,
    claims_about,
    compare,
    evaluate_claims,
    resample_scores,
    verdict,
)
from experiments.sentence_scores import f1


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
    assert found.mean == pytest.approx(f1(runs.sum(0)) - f1(others.sum(0)))
    # The quantiles of 4,000 resamples have a standard error of a twentieth of the deviation.
    margin = 4 * expected.standard_error / 20
    assert found.low == pytest.approx(expected.confidence_interval.low, abs=margin)
    assert found.high == pytest.approx(expected.confidence_interval.high, abs=margin)


def test_the_pairs_are_those_of_the_same_sentence():
    runs = counts_of(200, 0.5, 1)
    worse = runs - [0, 0, 1] * (runs[:, 2:] > 0)
    paired = compare([{1: difference_of(runs, worse)}])
    unpaired = compare([{1: difference_of(runs, worse[::-1])}])
    assert paired.mean == pytest.approx(unpaired.mean)
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 2


def test_seeds_that_differ_widen_the_interval():
    others = counts_of(500, 0.6, 2)
    same = {seed: difference_of(counts_of(500, 0.7, 1), others) for seed in (1, 2, 3)}
    narrow = compare([same])
    shifts = {1: -0.1, 2: 0.0, 3: 0.1}
    unlike = {seed: difference_of(counts_of(500, 0.7 + shifts[seed], 1), others) for seed in shifts}
    wide = compare([unlike])
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    # Only the seeds of all tasks count.
    assert compare([{**same, 4: same[1] - 50}, same]) == narrow
    # What a seed adds to all tasks does not cancel out in their mean.
    assert compare([unlike, unlike]) == wide


def test_tasks_count_the_same_whatever_their_sentences():
    long, short = counts_of(1000, 0.9, 1), counts_of(50, 0.5, 2)
    zero, none = long * [1, 1, 0], short * [1, 1, 0]
    both = compare([{1: difference_of(long, zero)}, {1: difference_of(short, none, seed=2)}])
    assert both.mean == pytest.approx((f1(long.sum(0)) + f1(short.sum(0))) / 2)


def test_verdicts():
    assert verdict(Difference(1.0, 0.1, 2.0)) == "above"
    assert verdict(Difference(-1.0, -2.0, -0.1)) == "below"
    assert verdict(Difference(1.0, 0.0, 2.0)) == "not significant"


def test_ours_are_compared_with_fasttext_and_others_of_as_many_minutes():
    names = ["elmo_semfit-5min", "bert-5min", "bert-15min", "none", "fasttext"]
    names += ["elmo_semfit-15min", "elmo_semfit_contrastive-5min", "elmo_semfit", "elmo_semfit_l2"]
    pairs = [(claim.representation, claim.other) for claim in claims_about(names)]
    assert list(dict.fromkeys(pairs)) == [
        ("elmo_semfit", "fasttext"),
        ("elmo_semfit-5min", "fasttext"),
        ("elmo_semfit-5min", "bert-5min"),
        ("elmo_semfit-15min", "fasttext"),
        ("elmo_semfit-15min", "bert-15min"),
        ("elmo_semfit_contrastive-5min", "fasttext"),
        ("elmo_semfit_contrastive-5min", "bert-5min"),
        ("elmo_semfit_contrastive-5min", "elmo_semfit-5min"),
    ]


def test_claims_have_rows_where_both_were_run():
    better, worse = counts_of(400, 0.9, 1), counts_of(400, 0.6, 2)
    counts = {
        Run("ner", "elmo_semfit", 3, "all"): better,
        Run("srl", "elmo_semfit", 1, "all"): better[:9],
        Run("srl", "fasttext", 1, "all"): worse[:9],
    }
    for seed in (1, 2):
        counts[Run("ner", "elmo_semfit", seed, "all")] = better
        counts[Run("ner", "elmo_semfit", seed, "oov")] = worse
        counts[Run("ner", "fasttext", seed, "all")] = worse
    claims = [
        Claim("elmo_semfit", "fasttext", ("ner",)),
        Claim("elmo_semfit", "fasttext", ("ner",), "oov"),
        Claim("elmo_semfit", "fasttext", ("ner", "srl")),
        Claim("elmo_semfit", "fasttext", ("ner", "snli")),
    ]
    ner, both = evaluate_claims(counts, claims)
    assert (ner["tasks"], ner["seeds"], ner["verdict"]) == (["ner"], 2, "above")
    assert ner["low"] < ner["mean"] < ner["high"]
    assert ner["mean"] == pytest.approx(f1(better.sum(0)) - f1(worse.sum(0)))
    # With one seed there is no verdict.
    assert (both["tasks"], both["seeds"], both["verdict"]) == (["ner", "srl"], 1, "")
