import json
import shutil

import numpy
import pytest

from experiments.claims import Run
from experiments.collect_results import (
    collect_counts,
    collect_results,
    config_hash,
    merge_results,
)
from experiments.json_files import write_json
from experiments.results import METRICS
from tests.experiments.tables_test import run_of
from tests.processes import run_module

RECORD = {
    "commit": "a1",
    "device": "cpu",
    "trainable_parameters": 12,
    "updates": 6,
    "seconds": 40.0,
    "tokens": 3200,
}


def write_run(run, metrics, *, run_seed=1, **record):
    write_json(run / "config.json", {"random_seed": run_seed})
    write_json(run / "metrics.json", metrics)
    write_json(run / "record.json", {**RECORD, **record})
    (run / "done").touch()


@pytest.fixture
def out(tmp_path):
    out = tmp_path / "out"
    models = out / "novels" / "models"
    write_run(models / "elmo_semfit", {})
    return out


def test_a_language_model(out):
    unfinished = out / "novels" / "models" / "elmo_semfit_l2"
    write_run(unfinished, {})
    (unfinished / "done").unlink()
    (row,) = collect_results(out)["language_models"]
    digits = row.pop("config_hash")
    assert row == {
        "name": "elmo_semfit",
        "seed": 1,
        "corpus": "novels",
        **{key: RECORD[key] for key in RECORD if key != "tokens"},
        "words_read": 3200,
        "words_per_second": 80.0,
        "speed_up": None,
    }
    moved = out.with_name("moved")
    shutil.move(out, moved)
    assert collect_results(moved)["language_models"][0]["config_hash"] == digits


def test_speed_is_relative_to_elmo_after_as_many_minutes(out):
    models = out / "novels" / "models"
    for name, seconds in {"elmo": 80.0, "elmo-5min": 20.0, "elmo_semfit-5min": 10.0}.items():
        write_run(models / name, {}, seconds=seconds)
    rows = {row["name"]: row for row in collect_results(out)["language_models"]}
    speed_ups = {name: rows[name]["speed_up"] for name in rows}
    # `elmo_semfit` takes half the time of `elmo`.
    assert speed_ups == {"elmo": 1, "elmo-5min": 1, "elmo_semfit": 2, "elmo_semfit-5min": 2}


def test_a_config_without_its_directories_and_seeds():
    config = {"path": "/home/data/test.txt", "sizes": [{"a": 1}, "/other/x"], "random_seed": 1}
    moved = {"path": "/data/test.txt", "sizes": [{"a": 1}, "/x"], "numpy_seed": 2}
    assert config_hash(config) == config_hash(moved)
    for other in ({**config, "path": "/home/data/train.txt"}, {**config, "sizes": [{"a": 2}]}):
        assert config_hash(config) != config_hash(other)


@pytest.mark.parametrize("task", list(METRICS))
def test_tasks_that_have_ended(task, tmp_path):
    tasks = tmp_path / "tasks"
    write_run(tasks / f"{task}.elmo-15min", {METRICS[task]: 0.25}, run_seed=12)
    write_run(tasks / f"{task}.fasttext", {METRICS[task]: 0.5})
    (tasks / f"{task}.fasttext" / "done").unlink()
    (row,) = collect_results(tmp_path)["tasks"]
    del row["config_hash"]
    assert row == {
        "task": task,
        "representation": "elmo-15min",
        "seed": 12,
        "score": 25,
        **RECORD,
    }


def test_what_else_there_is(out):
    mr, cr = {"score": 77.5, "dev": 1}, {"score": 80.5}
    write_json(out / "senteval/fasttext.json", {"tasks": {"MR": mr, "CR": cr}, "average": 79.0})
    # A model of another package has a config of its own.
    peer = out / "novels/models/bert-15min"
    write_json(peer / "config.json", {"architectures": ["BertForMaskedLM"]})
    write_json(peer / "record.json", {"name": "bert", "seed": 2, "words_read": 7})
    (peer / "done").touch()
    results = collect_results(out)
    row = results["language_models"][0]
    expected = {"name": "bert-15min", "corpus": "novels", "seed": 2, "words_read": 7}
    assert row == {**expected, "speed_up": None}
    assert results["senteval"] == [
        {"representation": "fasttext", "average": 79.0, "scores": {"CR": 80.5, "MR": 77.5}}
    ]
    write_json(out / "embedding_speed.json", {"rows": [{"label": "elmo"}], "threads": 1})
    assert collect_results(out)["embedding_speed"] == [{"label": "elmo"}]


COUNTS = numpy.array([[1, 2, 1], [3, 2, 1]])


def write_counts(out, run, *, run_seed=1, **groups):
    write_run(out / "tasks" / run, {METRICS[run.partition(".")[0]]: 0.5}, run_seed=run_seed)
    file = out / "sentences" / f"{run}.npz"
    file.parent.mkdir(exist_ok=True)
    numpy.savez(file, **groups)


def test_counts_have_the_seed_of_their_run(out):
    write_counts(out, "bc5cdr.elmo", run_seed=3, all=COUNTS, oov=COUNTS[:1])
    counts = collect_counts(out)
    assert list(counts) == [Run("bc5cdr", "elmo", 3, group) for group in ("all", "oov")]
    assert counts[Run("bc5cdr", "elmo", 3, "oov")].tolist() == [[1, 2, 1]]


def test_seeds_accumulate(out, tmp_path):
    """Results of another `OUT`, with another seed, are added: groups and claims are of both."""
    file, log = tmp_path / "results.json", tmp_path / "log"
    for seed in (1, 2):
        for name in ("fasttext", "elmo_semfit"):
            right = COUNTS if name == "fasttext" else COUNTS[:, [0, 0, 0]]
            write_counts(out, f"bc5cdr.{name}", run_seed=seed, all=right, oov=right)
        run_module("experiments.collect_results", out, file, output=log)
        results = json.loads(file.read_text())
        assert {row["seed"] for row in results["tasks"]} == set(range(1, seed + 1))
        claim = results["claims"][0]
        assert (claim["representation"], claim["other"]) == ("elmo_semfit", "fasttext")
        assert claim["tasks"] == ["bc5cdr"]
        assert (claim["seeds"], claim["mean"]) == (seed, 50.0)
    name = {"task": "bc5cdr", "representation": "fasttext"}
    assert [row for row in results["groups"] if row["representation"] == "fasttext"] == [
        {**name, "seed": seed, "group": group, "f1": 50.0, "annotated": 4}
        for seed in (1, 2)
        for group in ("all", "oov")
    ]


def test_new_rows_replace_those_of_the_same_run():
    none, elmo = run_of("ner", "none", 1.0), run_of("ner", "elmo", 30.0)
    other = run_of("ner", "elmo", 20.0, seed=2)
    previous = {"tasks": [run_of("ner", "elmo", 20.0), other, none]}
    merged = merge_results({"tasks": [elmo]}, previous)
    assert merged["tasks"] == [other, none, elmo]
    # Earlier results may lack a kind.
    new = {"tasks": [elmo]}
    assert merge_results(new, {}) == new
