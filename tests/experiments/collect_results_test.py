import json
import os
import shutil

import pytest

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.subwords.tokenizer import SubwordTokenizer
from allennlp_semfit.subwords.train import train_bpe
from experiments.collect_results import METRICS, collect_results
from tests import FIXTURES
from tests.processes import run_module

TRAINED = {"epoch": 1, "best_epoch": 0, "best_validation_cosine": 0.75}
# 6 sentences of 16 words.
TRAIN = (
    "the boats and their bridges\n\nbridges\nthe boats\nboats and bridges\nboats\nthe old boats .\n"
)
HELD_OUT = ["the boats and their bridges", "unseen boats"]


def write_json(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def write_run(run, config, metrics, sessions="began 100 a1\nended 140 a1\n"):
    write_json(run / "config.json", config)
    if metrics is not None:
        write_json(run / "metrics.json", metrics)
        (run / "done").touch()
    run.with_name(run.name + ".sessions").write_text(sessions)


def lm_config(out, loader=None, **others):
    return {
        "dataset_reader": {"type": "language_modeling", "token_indexers": {}},
        "train_data_path": f"{out}/novels/train",
        "data_loader": loader or {"batch_size": 2},
        **others,
    }


@pytest.fixture
def out(tmp_path):
    out = tmp_path / "out"
    (out / "novels" / "train").mkdir(parents=True)
    (out / "novels" / "train" / "sentences.txt").write_text(TRAIN)
    (out / "novels" / "heldout.txt").write_text("\n".join(HELD_OUT) + "\n\n")
    return out


def test_a_directory_that_is_none_is_named(tmp_path):
    arguments = [tmp_path, tmp_path / "results.json"]
    log = tmp_path / "log"
    process = run_module("experiments.collect_results", *arguments, output=log, check=False)
    line = process.output.splitlines()[-1]
    assert line.startswith(f"{tmp_path} has no CORPUS/models, CORPUS/probes or tasks. Give")
    assert process.returncode == 1
    assert not (tmp_path / "results.json").exists()


def test_a_language_model(out):
    models = out / "novels" / "models"
    metrics = {**TRAINED, "best_validation_baseline_cosine": 0.7, "training_duration": "0:00:01"}
    sessions = "began 100 a1\nended 140 a1\nbegan 200 a1\nended 210 a1\n"
    write_run(models / "elmo_semfit", lm_config(out), metrics, sessions)
    write_run(models / "elmo_semfit_l2", lm_config(out), None)
    (row,) = collect_results(out)["language_models"]
    digits = row.pop("config_hash")
    assert row == {
        "name": "elmo_semfit",
        "corpus": "novels",
        "device": "cpu",
        "duration": 50,
        "duration_is_partial": False,
        "sessions": 2,
        "commit": "a1",
        "words": 32,
        "updates": 6,
        # Of two sessions, each of which begins with reading.
        "training_seconds": None,
        "words_per_second": None,
        "speed_up": None,
        "tokens_per_word": 1,
        "trainable_parameters": None,
        "cosine": 0.75,
        "baseline_cosine": 0.7,
    }
    # Elsewhere the same, with its config as it was.
    moved = out.with_name("moved")
    shutil.move(out, moved)
    assert collect_results(moved)["language_models"][0]["config_hash"] == digits


@pytest.mark.parametrize(
    ("loader", "others", "words", "updates"),
    [
        # Of two epochs, the second of which goes on with the text, as AllenNLP does.
        ({"batch_sampler": {"batch_size": 3}, "batches_per_epoch": 1}, {}, 16, 2),
        ({"batch_sampler": {"batch_size": 3}, "batches_per_epoch": 4}, {}, 64, 8),
        # Each process takes so many.
        ({"batch_size": 3, "batches_per_epoch": 1}, {"cuda_devices": [0, 1]}, 32, 2),
        # The last batch is smaller: 3 of 4 sentences.
        ({"batch_size": 4}, {}, 32, 4),
        ({"batch_sampler": {"max_tokens": 9}}, {}, 32, None),
        ({"batch_sampler": {"max_tokens": 9}, "batches_per_epoch": 5}, {}, 32, 10),
    ],
)
def test_words_and_updates(loader, others, words, updates, out):
    distributed = {"distributed": others} if others else {}
    write_run(out / "novels/models/elmo_semfit", lm_config(out, loader, **distributed), TRAINED)
    (row,) = collect_results(out)["language_models"]
    assert (row["words"], row["updates"]) == (words, updates)


def test_gradients_that_are_accumulated_make_fewer_updates(out):
    config = lm_config(out, trainer={"num_gradient_accumulation_steps": 2})
    write_run(out / "novels/models/elmo_semfit", config, TRAINED)
    assert collect_results(out)["language_models"][0]["updates"] == 4


def test_the_seconds_are_those_of_the_one_session(out):
    write_run(out / "novels/models/elmo_semfit", lm_config(out), TRAINED)
    (row,) = collect_results(out)["language_models"]
    assert (row["training_seconds"], row["words_per_second"]) == (40, 0.8)


def test_the_seconds_are_those_between_checkpoints_in_the_middle(out):
    config = lm_config(out, {"batch_size": 2, "batches_per_epoch": 3})
    run = out / "novels/models/elmo_semfit"
    write_run(run, config, TRAINED, "began 100 a1\nbegan 200 a1\nended 999 a1\n")
    # In all but one interval an update takes two seconds; the run was killed after the second, and
    # validation came before the last of the epoch's end.
    for name, time in (("e0_b1", 150), ("e0_b2", 152), ("e0_b3", 300), ("e1_b0", 350)):
        file = run / f"model_state_{name}.th"
        file.touch()
        os.utime(file, (time, time))
    for name, time in (("e1_b1", 302), ("e1_b3", 306)):
        file = run / f"model_state_{name}.th"
        file.touch()
        os.utime(file, (time, time))
    (row,) = collect_results(out)["language_models"]
    assert (row["updates"], row["training_seconds"]) == (6, 12)
    assert row["words_per_second"] == pytest.approx(32 / 12, abs=0.05)


def test_the_speed_up_is_against_the_elmo_beside_it_even_if_that_has_not_ended(out):
    models = out / "novels" / "models"
    write_run(models / "elmo_semfit", lm_config(out), TRAINED)
    # 16 words in 3 updates of 5 seconds, so far.
    write_run(models / "elmo", lm_config(out, {"batch_size": 2, "batches_per_epoch": 3}), None)
    (row,) = collect_results(out)["language_models"]
    assert row["speed_up"] is None
    for updates, time in ((1, 100), (2, 105)):
        file = models / "elmo" / f"model_state_e0_b{updates}.th"
        file.touch()
        os.utime(file, (time, time))
    (row,) = collect_results(out)["language_models"]
    assert row["speed_up"] == 0.75
    # 32 words in 20 seconds.
    write_run(models / "elmo", lm_config(out), TRAINED, "began 100 a1\nended 120 a1\n")
    for file in (models / "elmo").glob("*.th"):
        file.unlink()
    elmo, semfit = collect_results(out)["language_models"]
    assert (elmo["speed_up"], semfit["speed_up"]) == (1.0, 0.5)


def test_a_run_that_went_on_after_its_last_epoch_has_its_epochs(out):
    run = out / "tasks" / "ner.1.none"
    write_run(run, {}, {"best_epoch": 1, METRICS["ner"]: 0.5})
    for epoch in (0, 2, 10):
        write_json(run / f"metrics_epoch_{epoch}.json", {})
    assert collect_results(out)["tasks"][0]["epochs"] == 11


def test_a_run_without_an_archive_has_not_ended(out):
    run = out / "tasks" / "ner.1.none"
    write_run(run, {}, {"epoch": 1, "best_epoch": 1, METRICS["ner"]: 0.5})
    assert len(collect_results(out)["tasks"]) == 1
    (run / "done").unlink()
    write_run(out / "tasks" / "ner.2.none", {}, {"epoch": 1, "best_epoch": 1})
    assert collect_results(out)["tasks"] == []


def test_a_session_of_unknown_length_has_no_speed(out):
    sessions = "began 100 a1\nbegan 200 a1\nended 210 a1\n"
    write_run(out / "novels/models/elmo_semfit", lm_config(out), TRAINED, sessions)
    (row,) = collect_results(out)["language_models"]
    assert row["duration_is_partial"]
    assert row["words_per_second"] is None


def test_perplexities_are_those_of_a_word(out):
    train_bpe([FIXTURES / "corpus" / "train"], out / "novels/subwords", merges=20)
    model = out / "novels" / "subwords" / "tokenizer.json"
    tokens = [SubwordTokenizer(model).tokenize(sentence) for sentence in HELD_OUT]
    # Sentences' ends are predicted too: 9 with the 7 words.
    power = (sum(map(len, tokens)) + 2) / 9
    assert power > 2
    reader = {
        "type": "language_modeling",
        "tokenizer": {"type": "subword", "model_path": str(model)},
        "token_indexers": {"tokens": {"type": "single_id"}},
    }
    metrics = {"epoch": 0, "best_epoch": 0, "best_validation_perplexity": 3.0}
    models = out / "novels" / "models"
    write_run(models / "elmo_subword", lm_config(out, dataset_reader=reader), metrics)
    write_run(models / "elmo", lm_config(out), metrics)
    # The tokenizer is found where the directory is now.
    moved = out.with_name("moved")
    shutil.move(out, moved)
    elmo, subword = collect_results(moved)["language_models"]
    assert elmo["perplexity"] == 3
    assert subword["perplexity"] == pytest.approx(3**power)


@pytest.mark.parametrize("task", list(METRICS))
def test_tasks_that_have_ended(task, out, monkeypatch):
    monkeypatch.setenv("SEMFIT_DATA", "/data")
    metrics = {"epoch": 4, "best_epoch": 2, METRICS[task]: 0.25, "best_validation_accuracy": 0.9}
    config = {"test_data_path": "/data/test.txt", "random_seed": 1}
    tasks = out / "tasks"
    write_run(tasks / f"{task}.1.fasttext", config, metrics)
    write_run(tasks / f"{task}.12.elmo-equal-time", {**config, "random_seed": 12}, metrics)
    # Not yet evaluated on the test data, and still running.
    write_run(tasks / f"{task}.2.fasttext", config, {"epoch": 4, "best_epoch": 2})
    write_run(tasks / f"{task}.3.fasttext", config, None)
    first, second = collect_results(out)["tasks"]
    assert first.pop("config_hash") == second["config_hash"]
    assert (second["seed"], second["representation"]) == (12, "elmo-equal-time")
    assert first == {
        "task": task,
        "representation": "fasttext",
        "seed": 1,
        "metric": METRICS[task],
        "score": 25,
        "epochs": 5,
        "best_epoch": 3,
        "device": "cpu",
        "duration": 40,
        "duration_is_partial": False,
        "sessions": 1,
        "commit": "a1",
    }


@pytest.mark.parametrize("name", ["sst2.1.elmo", "ner.elmo", "ner.x.elmo"])
def test_a_run_of_no_task_is_named(name, out):
    write_run(out / "tasks" / name, {}, {})
    with pytest.raises(InvalidFileError, match=f"{name} has another name than TASK.SEED"):
        collect_results(out)


def test_what_else_there_is(out):
    write_run(out / "tasks" / "ner.1.none", {}, {"epoch": 1, "best_epoch": 0})
    write_json(out / "novels/equal_time/elmo.json", {"updates": 7, "seconds": 2.5})
    mr, cr = {"score": 77.5, "dev": 1}, {"score": 80.5}
    write_json(out / "senteval/fasttext.json", {"tasks": {"MR": mr, "CR": cr}, "average": 79.0})
    write_json(out / "novels/cloze/elmo.json", {"rows": [{"bucket": "0", "mrr": 0.1}]})
    write_json(out / "oov_entities/b.json", {"rows": [{"recall": 0.5}], "other": 1})
    write_json(out / "oov_entities/a.json", {"rows": [{"recall": 0.25}]})
    probe = out / "pubmed/probes/elmo_semfit.2"
    (out / "pubmed/probes/elmo_semfit.3").mkdir(parents=True)
    (out / "pubmed/probes/elmo_semfit.3/done").touch()
    probe.mkdir()
    (probe / "done").touch()
    write_json(probe.with_name("elmo_semfit.2.cloze.json"), {"rows": [{"bucket": "0", "mrr": 0.1}]})
    for task, f1 in (("bc5cdr", 75.0), ("wnut17", 25.0)):
        write_json(probe.with_name(f"elmo_semfit.2.{task}.json"), {"f1": f1})
    # The average is that of all ten tasks.
    sst2 = {"tasks": {"SST-2": {"score": 80.0}}}
    write_json(probe.with_name("elmo_semfit.2.sst2.json"), sst2)
    assert collect_results(out) == {
        "language_models": [],
        "equal_time": [{"name": "elmo", "corpus": "novels", "updates": 7, "seconds": 2.5}],
        "tasks": [],
        "senteval": [
            {"representation": "fasttext", "average": 79.0, "scores": {"CR": 80.5, "MR": 77.5}}
        ],
        "cloze": [{"name": "elmo", "corpus": "novels", "rows": [{"bucket": "0", "mrr": 0.1}]}],
        "oov_entities": [{"recall": 0.25}, {"recall": 0.5}],
        "probes": [
            {
                "name": "elmo_semfit",
                "corpus": "pubmed",
                "seed": 2,
                "cloze": [{"bucket": "0", "mrr": 0.1}],
                "linear": {"bc5cdr": {"f1": 75.0}, "wnut17": {"f1": 25.0}},
                "sst2": 80.0,
            }
        ],
    }
    write_json(out / "senteval/fasttext.json", {"average": 79.0})
    with pytest.raises(
        InvalidFileError, match=r"fasttext\.json is not the output of `allennlp senteval`"
    ):
        collect_results(out)
