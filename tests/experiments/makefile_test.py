"""What the Makefile of the experiments runs."""

import json
import os
import re
import subprocess

import _jsonnet
import pytest

from tests import FIXTURES

EXPERIMENTS = FIXTURES.parent / "experiments"
TASKS = ["coref", "ner", "snli", "srl", "sst5"]

VARIABLES = {
    name: f"/{name}"
    for directory in (EXPERIMENTS, EXPERIMENTS.parent / "training_config")
    for file in directory.rglob("*sonnet")
    for name in re.findall(r"extVar\('(\w+)'\)", file.read_text("utf-8"))
}
for prefix in ("COREF", "NER", "SNLI", "SRL", "SST"):
    for part in ("TRAIN", "DEV", "TEST"):
        VARIABLES[f"{prefix}_{part}_DATA_PATH"] = "/data"


def make(*arguments, **environment):
    return subprocess.run(
        ["make", "-C", EXPERIMENTS, *arguments],
        env={**os.environ, "SEMFIT_DATA": "/data", **environment},
        capture_output=True,
        text=True,
    )


def lines_of(tmp_path, *goals):
    process = make("--dry-run", f"OUT={tmp_path}", *goals)
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


def is_training(line):
    return ".venv/bin/allennlp train " in line


def assert_in_order(lines, steps):
    places = [next(i for i, line in enumerate(lines) if step in line) for step in steps]
    assert places == sorted(places)


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    out = tmp_path_factory.mktemp("configs")
    process = make("configs", f"OUT={out}")
    assert process.returncode == 0, process.stderr

    def config_of(name, **variables):
        path = str(out / "configs" / f"{name}.jsonnet")
        return json.loads(_jsonnet.evaluate_file(path, ext_vars={**VARIABLES, **variables}))

    config_of.models = sorted(file.stem for file in (out / "configs").glob("*.jsonnet"))
    return config_of


def test_the_language_models_have_one_text_and_as_many_updates_as_the_schedule(configs):
    batches = set()
    assert "elmo_semfit" in configs.models
    assert len(configs.models) >= 3
    for name in configs.models:
        config = configs(name)
        assert config["train_data_path"] == "/LM_TRAIN_DATA_PATH"
        assert config["validation_data_path"] == "/LM_DEV_DATA_PATH"
        updates = config["data_loader"]["batches_per_epoch"]
        assert updates == int(updates)
        assert "run_record" in config["trainer"]["callbacks"]
        schedule = config["trainer"]["learning_rate_scheduler"]
        num_epochs = config["trainer"]["num_epochs"]
        assert schedule["decay_end"] == schedule["num_replicas"] * updates * num_epochs
        batches.add((updates, num_epochs, json.dumps(config["data_loader"], sort_keys=True)))
    assert len(batches) == 1


@pytest.mark.parametrize("task", TASKS)
def test_the_tasks_read_vectors_as_wide_as_the_language_models(task, configs):
    contextualizer = configs("elmo_semfit")["model"]["contextualizer"]
    config = configs(f"tasks/{task}", WORD_REPRESENTATION="elmo_semfit")
    text_field_embedder = config["model"]["text_field_embedder"]["token_embedders"]
    assert text_field_embedder["elmo_semfit"]["archive_file"] == "/LM_ARCHIVE_PATH"
    other = configs(f"tasks/{task}", WORD_REPRESENTATION="none")
    width = sum(_widths(config)) - sum(_widths(other))
    projection = text_field_embedder["elmo_semfit"].get("projection_dim")
    if task in ("ner", "sst5", "coref"):
        assert width == (projection or 2 * contextualizer["hidden_dim"])
    fasttext = configs(f"tasks/{task}", WORD_REPRESENTATION="fasttext")
    embedder = fasttext["model"]["text_field_embedder"]["token_embedders"]["fasttext"]
    assert embedder["embedding_dim"] == contextualizer["input_dim"]


def _widths(config):
    """Where the words' vectors enter the task's model."""
    model = config["model"]
    for encoder in ("encoder", "context_layer"):
        if "input_size" in model.get(encoder, {}) and "pre_encode_feedforward" not in model:
            yield model[encoder]["input_size"]
    if "pre_encode_feedforward" in model:
        yield model["pre_encode_feedforward"]["input_dim"]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_comes_after_its_language_model(task, tmp_path):
    goal = tmp_path / "tasks" / f"{task}.elmo_adaptive" / "done"
    lines = lines_of(tmp_path, str(goal))
    steps = ("count-vocabulary", "/models/elmo_adaptive -o", f"/tasks/{task}.elmo_adaptive -o")
    assert_in_order(lines, steps)


def test_all_makes_everything_that_the_tables_have(tmp_path):
    lines = lines_of(tmp_path, "MINUTES=5 15", "MODELS=elmo elmo_semfit")
    # Two models of novels, for their speed and twice more, and two of two languages; four tasks
    # with two representations, and with fastText, two models, four peers and one of the models
    # beside fastText twice; two with seven.
    models, tasks = 2 * 3 + 2 * 2, 4 * (2 + 8 * 2) + 2 * 7
    assert sum(map(is_training, lines)) == models + tasks
    # BERT also of two languages.
    assert sum("experiments.peers.train" in line for line in lines) == 4 * 2 + 2
    # Two models of 15 minutes, also with layers side by side.
    assert sum("allennlp senteval" in line for line in lines) == 1 + 2 * 2
    assert sum("experiments.peers.speed" in line for line in lines) == 1


def test_a_seed_is_of_everything(tmp_path):
    goal = str(tmp_path / "tasks/ner.elmo_semfit/done")
    trainings = list(filter(is_training, lines_of(tmp_path, "SEED=3", goal)))
    assert len(trainings) == 2
    for line in trainings:
        assert '"random_seed": 3, "numpy_seed": 3, "pytorch_seed": 3' in line
    process = make("--dry-run", "SEED=3", "senteval")
    assert "/output/experiments/laptop-3/senteval" in process.stdout


def test_minutes_become_updates_at_the_measured_speed(tmp_path):
    goal = str(tmp_path / "tasks/bc5cdr.elmo_semfit-15min/done")
    speed, training, run = filter(is_training, lines_of(tmp_path, goal))
    assert f"-s {tmp_path}/novels/speed/elmo_semfit " in speed
    assert f"-s {tmp_path}/novels/models/elmo_semfit-15min " in training
    # The same text for all tasks.
    assert f"FASTTEXT_MODEL_PATH={tmp_path}/novels/vectors.bin" in training
    assert f"LM_ARCHIVE_PATH={tmp_path}/novels/models/elmo_semfit-15min/model.tar.gz" in run


@pytest.mark.parametrize(("model", "seconds"), [("elmo_semfit", 60.5), ("elmo", 0)])
def test_minutes_include_those_of_fasttext(model, seconds, tmp_path):
    done = tmp_path / "novels" / "speed" / model
    done.mkdir(parents=True)
    (done / "done").touch()
    (done / "record.json").write_text('{"updates": 300, "seconds": 90.0}')
    (tmp_path / "novels" / "vectors.seconds").write_text("60.5\n")
    config = tmp_path / f"configs/{model}-15min.jsonnet"
    process = make(f"OUT={tmp_path}", str(config))
    assert process.returncode == 0, process.stderr
    built = json.loads(_jsonnet.evaluate_file(str(config), ext_vars=VARIABLES))
    updates = int((15 * 60 - seconds) / 90 * 300)
    assert built["data_loader"]["batches_per_epoch"] == updates
    assert built["trainer"]["learning_rate_scheduler"]["decay_end"] == 4 * updates


def test_a_peer_is_trained_for_so_many_minutes(tmp_path):
    lines = lines_of(tmp_path, f"{tmp_path}/tasks/snli.bert-5min/done")
    (peer,) = (line for line in lines if "experiments.peers.train bert" in line)
    directory = f"{tmp_path}/novels/models/bert-5min"
    assert peer.endswith(f"{tmp_path}/novels/train {directory} 5 1")
    (run,) = filter(is_training, lines)
    assert "WORD_REPRESENTATION=bert " in run
    assert f"PEER_PATH={directory} " in run
    lines = lines_of(tmp_path, f"{tmp_path}/tasks/snli.flair-5min/done")
    assert any(".venv-peers/bin/python -m experiments.peers.train flair" in line for line in lines)


def test_the_sentences_of_finished_runs_are_counted(tmp_path):
    for run in ("ner.fasttext", "coref.fasttext", "bc5cdr.elmo_semfit-5min"):
        (tmp_path / "tasks" / run).mkdir(parents=True)
        (tmp_path / "tasks" / run / "done").touch()
    lines = lines_of(tmp_path, "results")
    bc5cdr, ner = sorted(line for line in lines if "experiments.sentence_scores" in line)
    assert bc5cdr.endswith(f"{tmp_path}/novels/vocabulary")
    assert "vocabulary" not in ner
    assert any("experiments.collect_results" in line for line in lines)


def test_a_language_is_prepared_from_raw_text(tmp_path):
    lines = lines_of(tmp_path, str(tmp_path / "tasks/yor.elmo_semfit/done"))
    steps = ("prepare-corpus /data/lm/yor/raw.txt", "train-fasttext", "yor/models", "tasks/yor.")
    assert_in_order(lines, steps)
    assert any(f"NER_TEST_DATA_PATH={tmp_path}/data/yor_test.conll" in line for line in lines)


def test_what_is_done_is_not_done_again(tmp_path):
    goal = tmp_path / "tasks" / "ner.elmo" / "done"
    assert any(map(is_training, lines_of(tmp_path, str(goal))))
    goal.parent.mkdir(parents=True)
    goal.touch()
    assert not any(map(is_training, lines_of(tmp_path, str(goal))))


def test_what_is_not_set_is_named():
    process = make("--dry-run", SEMFIT_DATA="")
    assert process.returncode != 0
    assert "SEMFIT_DATA is not set" in process.stderr
