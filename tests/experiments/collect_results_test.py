import json
import shutil

import numpy
import pytest

from allennlp_semfit.common.errors import InvalidFileError
from experiments.collect_results import collect_results, config_hash, merge_results
from experiments.json_files import write_atomically, write_json
from experiments.results import METRICS
from tests.processes import run_module

RECORD = {
    "commit": "a1",
    "device": "cpu",
    "trainable_parameters": 12,
    "updates": 6,
    "seconds": 40.0,
    "tokens": 3200,
    "validation_tokens": 50,
}


def write_run(run, metrics, config=None, **record):
    write_json(run / "config.json", config or {"dataset_reader": {}})
    write_json(run / "metrics.json", metrics)
    write_json(run / "record.json", {**RECORD, **record})
    (run / "done").touch()


@pytest.fixture
def out(tmp_path):
    out = tmp_path / "out"
    models = out / "novels" / "models"
    cosines = {"best_validation_cosine": 0.75, "best_validation_baseline_cosine": 0.7}
    write_run(models / "elmo_semfit", cosines)
    return out


def test_a_directory_without_runs_is_named(tmp_path):
    arguments = [tmp_path, tmp_path / "results.json"]
    log = tmp_path / "log"
    process = run_module("experiments.collect_results", *arguments, output=log, check=False)
    line = process.output.splitlines()[-1]
    assert line.startswith(f"collect_results: {tmp_path} has no finished runs. Give")
    assert process.returncode == 1
    assert not (tmp_path / "results.json").exists()


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
        **RECORD,
        "cosine": 0.75,
        "baseline_cosine": 0.7,
        "tokens_per_word": 1.0,
        "words_per_second": 80.0,
        "speed_up": None,
    }
    moved = out.with_name("moved")
    shutil.move(out, moved)
    assert collect_results(moved)["language_models"][0]["config_hash"] == digits


def test_subwords_are_compared_by_words(out):
    models = out / "novels" / "models"
    metrics = {"best_validation_perplexity": 3.0}
    reader = {"dataset_reader": {"tokenizer": {"type": "subword"}}}
    write_run(models / "elmo", metrics, seconds=80.0)
    write_run(models / "elmo_subword", metrics, reader, validation_tokens=75)
    elmo, semfit, subword = collect_results(out)["language_models"]
    assert (elmo["perplexity"], elmo["speed_up"], semfit["speed_up"]) == (3.0, 1.0, 2.0)
    assert subword["tokens_per_word"] == 1.5
    assert subword["perplexity"] == pytest.approx(3**1.5)
    assert subword["speed_up"] == pytest.approx(2 / 1.5, abs=1e-3)
    # There is no model of the same words.
    write_run(out / "pubmed" / "models" / "elmo_subword", metrics, reader)
    assert "perplexity" not in collect_results(out)["language_models"][-1]


def test_a_config_without_its_directories_and_seeds():
    config = {"path": "/home/data/test.txt", "sizes": [{"a": 1}, "/other/x"], "random_seed": 1}
    moved = {"path": "/data/test.txt", "sizes": [{"a": 1}, "/x"], "numpy_seed": 2}
    assert config_hash(config) == config_hash(moved)
    for other in ({**config, "path": "/home/data/train.txt"}, {**config, "sizes": [{"a": 2}]}):
        assert config_hash(config) != config_hash(other)


@pytest.mark.parametrize("task", list(METRICS))
def test_tasks_that_have_ended(task, tmp_path):
    tasks = tmp_path / "tasks"
    write_run(tasks / f"{task}.12.elmo-15min", {METRICS[task]: 0.25})
    write_run(tasks / f"{task}.2.fasttext", {METRICS[task]: 0.5})
    (tasks / f"{task}.2.fasttext" / "done").unlink()
    (row,) = collect_results(tmp_path)["tasks"]
    del row["config_hash"]
    assert row == {
        "task": task,
        "representation": "elmo-15min",
        "seed": 12,
        "metric": METRICS[task],
        "score": 25,
        **RECORD,
    }


@pytest.mark.parametrize("name", ["sst2.1.elmo", "ner.elmo", "ner.x.elmo"])
def test_a_run_of_no_task_is_named(name, out):
    write_run(out / "tasks" / name, {})
    with pytest.raises(Exception, match=f"{name} has another name than TASK.SEED"):
        collect_results(out)


def test_what_else_there_is(out):
    mr, cr = {"score": 77.5, "dev": 1}, {"score": 80.5}
    write_json(out / "senteval/fasttext.json", {"tasks": {"MR": mr, "CR": cr}, "average": 79.0})
    write_json(out / "novels/cloze/elmo.json", {"rows": [{"bucket": "0", "mrr": 0.1}]})
    write_json(out / "claims.json", [{"representation": "elmo"}])
    counts = numpy.array([[1, 2, 1], [3, 2, 1]])
    for run in ("bc5cdr.2.elmo", "bc5cdr.3.elmo", "snli.1.elmo"):
        groups = {"all": counts} if run == "snli.1.elmo" else {"all": counts, "oov": counts[:1]}
        with write_atomically(out / "sentences" / f"{run}.npz") as file:
            numpy.savez(file, **groups)
        # The run of the second has been removed.
        if run != "bc5cdr.3.elmo":
            write_run(out / "tasks" / run, {METRICS[run.partition(".")[0]]: 0.5})
    write_run(out / "novels/models/elmo_semfit.2", {})
    write_json(out / "novels/minutes/elmo.15/record.json", RECORD)
    peer = {"name": "bert", "minutes": 15.0, "words_read": 7}
    write_json(out / "novels/peers/bert.15/record.json", peer)
    results = collect_results(out)
    assert [row["seed"] for row in results["language_models"]] == [1, 2]
    elmo = {"name": "elmo", "minutes": 15, "words_read": 3200, **RECORD}
    assert results["trainings"] == [elmo, peer]
    name = {"task": "bc5cdr", "seed": 2, "representation": "elmo"}
    assert results["groups"] == [
        {**name, "group": "all", "f1": 50.0, "annotated": 4},
        {**name, "group": "oov", "f1": pytest.approx(200 / 3), "annotated": 1},
    ]
    assert results["senteval"] == [
        {"representation": "fasttext", "average": 79.0, "scores": {"CR": 80.5, "MR": 77.5}}
    ]
    cloze = {"name": "elmo", "corpus": "novels", "rows": [{"bucket": "0", "mrr": 0.1}]}
    assert results["cloze"] == [cloze]
    assert results["claims"] == [{"representation": "elmo"}]
    write_json(out / "senteval/fasttext.json", {"average": 79.0})
    with pytest.raises(
        InvalidFileError, match=r"fasttext\.json is not the output of `allennlp senteval`"
    ):
        collect_results(out)


def run_of(representation, seed, score):
    return {"task": "ner", "representation": representation, "seed": seed, "score": score}


KINDS = ("language_models", "trainings", "groups", "senteval", "cloze", "claims")
EMPTY = {kind: [] for kind in KINDS}


def test_new_rows_replace_those_of_the_same_task_and_representation():
    none, elmo = run_of("none", 1, 1.0), run_of("elmo", 1, 30.0)
    previous = {**EMPTY, "tasks": [run_of("elmo", seed, 20.0) for seed in (1, 2)] + [none]}
    # The groups of a run that was not counted again are outdated.
    previous["groups"] = [{**none, "group": "all"}, {**elmo, "group": "all"}]
    new = {**EMPTY, "tasks": [elmo]}
    merged = merge_results(new, previous, name="results.json")
    assert merged["tasks"] == [none, elmo]
    assert merged["groups"] == [{**none, "group": "all"}]
    # Earlier results may lack a kind.
    assert merge_results(new, {}, name="results.json") == new


@pytest.mark.parametrize("previous", [[], 1, {"tasks": [1]}, {"tasks": [{"task": "ner"}]}])
def test_results_of_another_form_are_refused(previous, out):
    file = out / "results.json"
    write_json(file, previous)
    before = file.read_text()
    process = run_module(
        "experiments.collect_results", out, file, "--keep", output=out / "log", check=False
    )
    line = process.output.splitlines()[-1]
    assert f"collect_results: {file} is not the output of experiments.collect_results" in line
    assert file.read_text() == before


def test_keep_merges(out, tmp_path):
    file = tmp_path / "results.json"
    write_json(file, {**EMPTY, "tasks": [run_of("none", 1, 1.0)]})
    run_module("experiments.collect_results", out, file, "--keep", output=tmp_path / "log")
    assert json.loads(file.read_text())["tasks"] == [run_of("none", 1, 1.0)]
    assert len(json.loads(file.read_text())["language_models"]) == 1
