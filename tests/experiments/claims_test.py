import json

import numpy
import pytest
from scipy import stats

from allennlp_semfit.common.errors import InvalidFileError
from experiments.claims import (
    Claim,
    Difference,
    evaluate_claims,
    paired_bootstrap,
    timed_claims,
    verdict,
)
from experiments.json_files import write_atomically
from experiments.sentence_scores import f1
from tests.processes import run_module


def counts_of(num_sentences, accuracy, seed):
    """Sentences with up to four answers, of which so many are right."""
    random = numpy.random.default_rng(seed)
    annotated = random.integers(1, 5, num_sentences)
    correct = random.binomial(annotated, accuracy)
    return numpy.stack([annotated, annotated, correct], axis=1)


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
    found = paired_bootstrap([({1: runs}, {1: others})])
    assert found.mean == pytest.approx(f1(runs.sum(0)) - f1(others.sum(0)))
    # The quantiles of 4,000 resamples have a standard error of a twentieth of the deviation.
    margin = 4 * expected.standard_error / 20
    assert found.low == pytest.approx(expected.confidence_interval.low, abs=margin)
    assert found.high == pytest.approx(expected.confidence_interval.high, abs=margin)


def test_the_pairs_are_those_of_the_same_sentence():
    runs = counts_of(200, 0.5, 1)
    worse = runs - [0, 0, 1] * (runs[:, 2:] > 0)
    paired = paired_bootstrap([({1: runs}, {1: worse})])
    unpaired = paired_bootstrap([({1: runs}, {1: worse[::-1]})])
    assert paired.mean == pytest.approx(unpaired.mean)
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 2


def test_seeds_that_differ_widen_the_interval():
    same = {seed: counts_of(500, 0.7, 1) for seed in (1, 2, 3)}
    others = {seed: counts_of(500, 0.6, 2) for seed in (1, 2, 3)}
    narrow = paired_bootstrap([(same, others)])
    unlike = {seed: counts_of(500, 0.7 + shift, 1) for seed, shift in ((1, -0.1), (2, 0), (3, 0.1))}
    wide = paired_bootstrap([(unlike, others)])
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    # Only the seeds of both count.
    assert paired_bootstrap([({**same, 4: counts_of(500, 0.0, 1)}, others)]) == narrow


def test_tasks_count_the_same_whatever_their_sentences():
    long, short = counts_of(1000, 0.9, 1), counts_of(50, 0.5, 2)
    zero, none = long * [1, 1, 0], short * [1, 1, 0]
    both = paired_bootstrap([({1: long}, {1: zero}), ({1: short}, {1: none})])
    assert both.mean == pytest.approx((f1(long.sum(0)) + f1(short.sum(0))) / 2)


def test_one_seed_has_no_verdict(tmp_path):
    for name, accuracy in (("fasttext", 0.2), ("elmo_semfit", 0.9)):
        write_counts(tmp_path, f"snli.1.{name}", all=counts_of(100, accuracy, 1))
    files = sorted(tmp_path.glob("*.npz"))
    (row,) = evaluate_claims(files, [Claim("elmo_semfit", "fasttext", ("snli",))])
    assert row["low"] > 0
    assert row["verdict"] == ""
    write_counts(tmp_path, "snli.2.elmo", all=counts_of(99, 0.5, 1))
    with pytest.raises(InvalidFileError, match=r"snli\.2\.elmo\.npz has 99 sentences"):
        evaluate_claims([*files, tmp_path / "snli.2.elmo.npz"], [])


def test_ours_are_compared_with_others_of_as_many_minutes():
    names = ["elmo_semfit-5min", "bert-5min", "bert-15min", "elmo_semfit", "bert"]
    claims = list(timed_claims(names))
    assert {(claim.representation, claim.other) for claim in claims} == {
        ("elmo_semfit-5min", "bert-5min")
    }
    assert len(claims) == 5


def test_verdicts():
    assert verdict(Difference(1.0, 0.1, 2.0)) == "above"
    assert verdict(Difference(-1.0, -2.0, -0.1)) == "below"
    assert verdict(Difference(1.0, 0.0, 2.0)) == "not significant"


def write_counts(directory, name, **groups):
    with write_atomically(directory / f"{name}.npz") as file:
        numpy.savez(file, **groups)


def test_claims_have_rows_where_both_were_run(tmp_path):
    better, worse = counts_of(400, 0.9, 1), counts_of(400, 0.6, 2)
    for seed in (1, 2):
        write_counts(tmp_path, f"ner.{seed}.elmo_semfit", all=better, oov=worse)
        write_counts(tmp_path, f"ner.{seed}.fasttext", all=worse)
    write_counts(tmp_path, "ner.3.elmo_semfit", all=better)
    write_counts(tmp_path, "srl.1.elmo_semfit", all=better)
    claims = [
        Claim("elmo_semfit", "fasttext", ("ner",)),
        Claim("elmo_semfit", "fasttext", ("ner",), "oov"),
        Claim("elmo_semfit", "fasttext", ("ner", "srl")),
    ]
    (row,) = evaluate_claims(sorted(tmp_path.glob("*.npz")), claims)
    assert (row["tasks"], row["seeds"], row["verdict"]) == (("ner",), 2, "above")
    assert row["low"] < row["mean"] < row["high"]


def test_the_command_writes_them(tmp_path):
    for name, accuracy in (("fasttext", 0.5), ("elmo_semfit", 0.7)):
        write_counts(tmp_path, f"snli.1.{name}", all=counts_of(100, accuracy, 1))
    files = sorted(tmp_path.glob("*.npz"))
    run_module("experiments.claims", tmp_path / "claims.json", *files, output=tmp_path / "log")
    (row,) = json.loads((tmp_path / "claims.json").read_text())
    assert (row["representation"], row["other"], row["tasks"]) == (
        "elmo_semfit",
        "fasttext",
        ["snli"],
    )
