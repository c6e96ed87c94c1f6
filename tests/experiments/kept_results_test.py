import json
import re

import pytest

from allennlp_semfit.common.invalid_file import InvalidFileError
from experiments import gather
from experiments.kept_results import with_kept

PARTS = [
    "language_models",
    "in_time",
    "tasks",
    "senteval",
    "curves",
    "frequency",
    "layers",
    "unseen",
    "spectra",
]


def task_of(score, representation="elmo_semfit", seed=1, **others):
    return {
        "task": "srl",
        "seed": seed,
        "representation": representation,
        "score": score,
        **others,
    }


def with_tasks(*rows):
    return {**{part: [] for part in PARTS}, "tasks": list(rows)}


def test_rows_of_other_names_are_kept_and_those_of_the_same_replaced():
    def results(*scores):
        return {
            "language_models": [
                {"corpus": corpus, "name": "elmo", "cosine": score} for corpus, score in scores
            ]
        }

    kept, new = results(("novels", 1), ("pubmed", 2)), results(("news", 3), ("novels", 4))
    merged = with_kept(new, kept, name="a.json")
    assert merged == results(("novels", 4), ("pubmed", 2), ("news", 3))


def test_a_task_that_was_run_again_counts_twice():
    kept = with_tasks(task_of(1.0), task_of(2.0, seed=2), task_of(3.0, began=100))
    new = with_tasks(task_of(4.0, began=200), task_of(5.0, "elmo", began=300))
    merged = with_kept(new, kept, name="a.json")
    assert [row["score"] for row in merged["tasks"]] == [1, 2, 3, 4, 5]
    # And no more often, if the same run is gathered again.
    assert with_kept(new, merged, name="a.json") == merged


@pytest.mark.parametrize("content", [[], {"task": []}])
def test_a_file_of_something_else_is_named(content):
    with pytest.raises(InvalidFileError, match="a.json: it is not what experiments.gather writes"):
        with_kept(with_tasks(), content, name="a.json")


def test_they_are_kept_if_that_is_asked_for(tmp_path, monkeypatch, capsys):
    new = with_tasks(task_of(4.0, began=200))
    monkeypatch.setattr(gather, "gather", lambda out: new)
    file = tmp_path / "laptop.json"
    kept = with_tasks(task_of(1.0))
    file.write_text(json.dumps(kept))
    gather.main([str(tmp_path), str(file), "--keep"])
    assert json.loads(file.read_text()) == with_tasks(task_of(1.0), task_of(4.0, began=200))
    gather.main([str(tmp_path), str(file)])
    assert json.loads(file.read_text()) == new
    file.unlink()
    with pytest.raises(SystemExit, match=re.escape(f"{file}: it cannot be read")):
        gather.main([str(tmp_path), str(file), "--keep"])


def test_every_part_has_an_identity(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "ner.1.none").mkdir()
    run = tmp_path / "tasks" / "ner.1.none"
    (run / "config.json").write_text("{}")
    (run / "metrics.json").write_text(
        json.dumps({"epoch": 0, "best_epoch": 0, gather.METRICS["ner"]: 0.5})
    )
    (run / "done").touch()
    run.with_name(run.name + ".sittings").write_text("began 100 a1\nended 140 a1\n")
    results = gather.gather(tmp_path)
    (row,) = results["tasks"]
    assert row["began"] == 100
    assert list(results) == PARTS
    assert with_kept(results, results, name="a.json") == results
