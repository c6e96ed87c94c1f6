import json

import pytest

from allennlp_semfit.common.errors import InvalidFileError
from experiments import collect_results
from experiments.merge_results import merge_results
from tests import FIXTURES

COMMITTED = FIXTURES.parent / "experiments" / "results" / "laptop.json"


def task_of(score, representation="elmo_semfit", seed=1, **others):
    return {
        "task": "srl",
        "seed": seed,
        "representation": representation,
        "score": score,
        "commit": "a1",
        "duration": 100,
        "config_hash": "c1",
        **others,
    }


def with_tasks(*rows):
    return {"language_models": [], "tasks": list(rows)}


def test_rows_of_other_names_are_kept_and_those_of_the_same_replaced():
    def results(*scores):
        return {
            "language_models": [
                {"corpus": corpus, "name": "elmo", "cosine": score} for corpus, score in scores
            ],
            "tasks": [],
        }

    kept, new = results(("novels", 1), ("pubmed", 2)), results(("news", 3), ("novels", 4))
    merged = merge_results(new, kept, name="a.json")
    assert merged == results(("novels", 4), ("pubmed", 2), ("news", 3))


def test_a_task_that_was_run_again_counts_twice():
    kept = with_tasks(task_of(1.0), task_of(2.0, seed=2))
    again = task_of(3.0, duration=105), task_of(4.0, commit="b2")
    new = with_tasks(*again, task_of(5.0, "elmo"))
    merged = merge_results(new, kept, name="a.json")
    assert [row["score"] for row in merged["tasks"]] == [1, 2, 3, 4, 5]
    # And no more often, if the same run is collected again.
    assert merge_results(new, merged, name="a.json") == merged


def test_a_task_of_what_its_config_was_before_does_not_count():
    kept = with_tasks(task_of(1.0), task_of(2.0, seed=2), task_of(3.0, "elmo"))
    new = with_tasks(task_of(4.0, config_hash="c2"))
    merged = merge_results(new, kept, name="a.json")
    assert [row["score"] for row in merged["tasks"]] == [3, 4]


def test_what_is_committed_has_one_row_of_each_name():
    results = json.loads(COMMITTED.read_text("utf-8"))
    assert merge_results(results, results, name="laptop.json") == results
    nothing = {part: [] for part in results}
    assert merge_results(nothing, results, name="laptop.json") == results


@pytest.mark.parametrize(
    "content", [[], {"task": []}, {"tasks": None}, {"tasks": ["srl"]}, {"tasks": [{"seed": 1}]}]
)
def test_a_file_of_something_else_is_named(content):
    with pytest.raises(
        InvalidFileError, match="a.json is not the output of experiments.collect_results"
    ):
        merge_results(with_tasks(), content, name="a.json")


def test_they_are_kept_if_that_is_asked_for(tmp_path, monkeypatch):
    kept, new = with_tasks(task_of(1.0)), with_tasks(task_of(2.0, duration=200))
    monkeypatch.setattr(collect_results, "collect_results", lambda out: new)
    file = tmp_path / "laptop.json"
    # The first at a scale has nothing to keep.
    collect_results.main([str(tmp_path), str(file), "--keep"])
    assert json.loads(file.read_text()) == new
    file.write_text(json.dumps(kept))
    collect_results.main([str(tmp_path), str(file), "--keep"])
    assert json.loads(file.read_text()) == with_tasks(*kept["tasks"], *new["tasks"])
    collect_results.main([str(tmp_path), str(file)])
    assert json.loads(file.read_text()) == new


def test_a_broken_file_to_keep_is_named_before_results_are_collected(tmp_path, monkeypatch):
    monkeypatch.setattr(collect_results, "collect_results", None)
    file = tmp_path / "laptop.json"
    file.write_text("{")
    with pytest.raises(SystemExit, match="laptop.json is invalid JSON"):
        collect_results.main([str(tmp_path), str(file), "--keep"])
    assert file.read_text() == "{"


def test_every_part_can_be_merged(tmp_path):
    (tmp_path / "tasks" / "ner.1.none").mkdir(parents=True)
    (tmp_path / "tasks" / "ner.1.none" / "done").touch()
    (tmp_path / "tasks" / "ner.1.none" / "metrics.json").write_text("{}")
    results = collect_results.collect_results(tmp_path)
    assert merge_results(results, results, name="a.json") == results
