import json
import os
import subprocess

import pytest

from experiments.table import METRICS, describe, gather
from tests import FIXTURES

EXPERIMENTS = FIXTURES.parent / "experiments"


def write_run(directory, task, seed, representation, **metrics):
    run = directory / f"{task}.{seed}.{representation}"
    run.mkdir()
    known = {"epoch": 4, "best_epoch": 2, "training_duration": "0:01:00"}
    (run / "metrics.json").write_text(json.dumps({**known, **metrics}))


def test_the_table_has_the_mean_and_the_deviation_of_the_seeds_that_have_ended(tmp_path):
    for seed, score in ((1, 0.25), (2, 0.27), (3, 0.32)):
        write_run(tmp_path, "ner", seed, "elmo_semfit", **{METRICS["ner"]: score})
    write_run(tmp_path, "ner", 1, "fasttext", **{METRICS["ner"]: 0.2})
    write_run(tmp_path, "snli", 1, "fasttext")  # not yet evaluated on the test data
    (tmp_path / "sst5.1.fasttext").mkdir()
    runs = gather(tmp_path)
    assert len(runs) == 4
    assert {(run["epochs"], run["best_epoch"]) for run in runs} == {(5, 3)}
    assert describe(runs).splitlines()[:2] == [
        "| task | metric | fasttext | elmo_semfit |",
        "| --- | --- | --- | --- |",
    ]
    # The deviation of a sample: sqrt((3² + 1² + 4²) / 2) = 3.6.
    assert "| ner | f1-measure-overall | 20.0 | 28.0 ± 3.6 |" in describe(runs)
    assert "| snli | accuracy |  |  |" in describe(runs)


@pytest.mark.parametrize("task", list(METRICS))
def test_the_makefile_runs_every_task_after_the_language_model(task, tmp_path):
    process = subprocess.run(
        ["make", "--dry-run", "-C", EXPERIMENTS, f"OUT={tmp_path}"],
        env={**os.environ, "SEMFIT_DATA": "/data"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = process.stdout.splitlines()
    (training,) = (i for i, line in enumerate(lines) if "language_model.jsonnet" in line)
    (run,) = (i for i, line in enumerate(lines) if f"{task}.1.elmo_semfit" in line)
    assert training < run
