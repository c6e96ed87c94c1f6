import json
import sys

import numpy
import pytest

from experiments import collect_results
from experiments.json_files import write_json
from experiments.results import METRICS

RECORD = {
    "commit": "a1",
    "device": "cpu",
    "trainable_parameters": 12,
    "updates": 6,
    "seconds": 40.0,
    "tokens": 3200,
}
COUNTS = numpy.array([[1, 2, 1], [3, 2, 1]])


def write_run(run, metrics, *, run_seed=1, **record):
    write_json(run / "config.json", {"random_seed": run_seed})
    write_json(run / "metrics.json", metrics)
    write_json(run / "record.json", {**RECORD, **record})
    (run / "done").touch()


def rows_of(out, kind):
    return collect_results.collect_results(out)[kind]


def test_language_models(tmp_path):
    models = tmp_path / "out" / "novels" / "models"
    for name, seconds in {"elmo-5min": 20.0, "elmo_semfit-5min": 10.0, "elmo_semfit": 40.0}.items():
        write_run(models / name, {}, seconds=seconds)
    write_run(models / "unfinished", {})
    (models / "unfinished" / "done").unlink()
    rows = {row["name"]: row for row in rows_of(tmp_path / "out", "language_models")}
    assert rows["elmo_semfit"] == {
        "name": "elmo_semfit",
        "seed": 1,
        "corpus": "novels",
        **{key: RECORD[key] for key in RECORD if key != "tokens"},
        "words_read": 3200,
        "words_per_second": 80.0,
        # There is no `elmo` of one epoch.
        "speed_up": None,
    }
    assert rows["elmo_semfit-5min"]["speed_up"] == 2
    assert "unfinished" not in rows


def test_seeds_accumulate(tmp_path, monkeypatch):
    """Results of another `OUT`, with another seed, are added: groups and claims are of both."""
    out, file = tmp_path / "out", tmp_path / "results.json"
    monkeypatch.setattr(sys, "argv", ["collect_results", str(out), str(file)])
    (out / "sentences").mkdir(parents=True)
    for seed in (1, 2, 2):
        for name in ("fasttext", "elmo_semfit"):
            right = COUNTS if name == "fasttext" else COUNTS[:, [0, 0, 0]]
            metrics = {METRICS["bc5cdr"]: 0.5}
            write_run(out / "tasks" / f"bc5cdr.{name}", metrics, run_seed=seed)
            numpy.savez(out / "sentences" / f"bc5cdr.{name}.npz", all=right, oov=right)
        collect_results.main()
        results = json.loads(file.read_text())
        expected = [(each, 50) for each in range(1, seed + 1) for _ in range(2)]
        assert [(row["seed"], row["score"]) for row in results["tasks"]] == expected
        claim = results["claims"][0]
        assert (claim["representation"], claim["other"]) == ("elmo_semfit", "fasttext")
        assert claim["tasks"] == ["bc5cdr"]
        assert (claim["seeds"], claim["mean"]) == (seed, pytest.approx(50.0))
    name = {"task": "bc5cdr", "representation": "fasttext"}
    assert [row for row in results["groups"] if row["representation"] == "fasttext"] == [
        {**name, "seed": seed, "group": group, "f1": 50.0, "annotated": 4}
        for seed in (1, 2)
        for group in ("all", "oov")
    ]
