"""What the Makefile of the experiments runs."""

import json
import os
import re
import subprocess

import _jsonnet
import pytest
import torch
from allennlp.common import Params
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from tests import FIXTURES

EXPERIMENTS = FIXTURES.parent / "experiments"
VARIABLES = {
    name: f"/{name}"
    for directory in (EXPERIMENTS, EXPERIMENTS.parent / "training_config")
    for file in directory.rglob("*sonnet")
    for name in re.findall(r"extVar\('(\w+)'\)", file.read_text("utf-8"))
}


def make(out, *arguments):
    """The lines of the output."""
    command = ["make", "-C", EXPERIMENTS, f"OUT={out}", *map(str, arguments)]
    environment = {**os.environ, "SEMFIT_DATA": "/data"}
    return subprocess.check_output(command, env=environment, text=True).splitlines()


def lines_of(tmp_path, *goals):
    return make(tmp_path, "--dry-run", *goals)


def is_training(line):
    return ".venv/bin/allennlp train " in line


def assert_in_order(lines, steps):
    places = [next(i for i, line in enumerate(lines) if step in line) for step in steps]
    assert places == sorted(places)


def test_the_language_models_have_one_text_and_one_schedule(tmp_path):
    make(tmp_path, "configs")
    trainings = set()
    files = sorted((tmp_path / "configs").glob("*.jsonnet"))
    assert len(files) >= 3
    for file in files:
        config = json.loads(_jsonnet.evaluate_file(str(file), ext_vars=VARIABLES))
        assert config["train_data_path"] == "/LM_TRAIN_DATA_PATH"
        assert "run_record" in config["trainer"]["callbacks"]
        schedule = config["trainer"]["learning_rate_scheduler"]
        assert config["trainer"]["num_epochs"] == 1
        trainings.add(json.dumps([config["data_loader"], schedule], sort_keys=True))
    assert len(trainings) == 1


def test_the_schedule_fits_a_run_for_the_speed(tmp_path):
    path = tmp_path / "configs" / "speed" / "elmo_semfit.jsonnet"
    make(tmp_path, path)
    config = json.loads(_jsonnet.evaluate_file(str(path), ext_vars=VARIABLES))
    assert config["data_loader"]["batches_per_epoch"] == 300
    params = Params(config["trainer"]["learning_rate_scheduler"])
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
    length = {"num_epochs": 1, "num_steps_per_epoch": 300}
    scheduler = LearningRateScheduler.from_params(params, optimizer=optimizer, **length)
    assert scheduler.decay_end == scheduler.num_replicas * 300


def test_all_makes_everything_that_the_tables_have(tmp_path):
    lines = lines_of(tmp_path, "MINUTES=5 15", "MODELS=elmo elmo_semfit", "SEED=3")
    # Two models of novels, for their speed and twice more, and two of two languages; four tasks
    # with two representations, and with fastText, two models, four peers and one of the models
    # beside fastText twice; two with seven.
    models, tasks = 2 * 3 + 2 * 2, 4 * (2 + 8 * 2) + 2 * 7
    trainings = list(filter(is_training, lines))
    assert len(trainings) == models + tasks
    for line in trainings:
        assert '"random_seed": 3, "numpy_seed": 3, "pytorch_seed": 3' in line
    # BERT also of two languages.
    assert sum("experiments.peers.train" in line for line in lines) == 4 * 2 + 2
    # Two models of 15 minutes, also with layers side by side.
    assert sum("-m experiments.senteval" in line for line in lines) == 1 + 2 * 2
    assert sum("experiments.peers.speed" in line for line in lines) == 1


def test_the_prerequisites_of_a_task_come_first(tmp_path):
    lines = lines_of(tmp_path, tmp_path / "tasks/snli.elmo_adaptive-15min/done")
    model = f"{tmp_path}/novels/models/elmo_adaptive-15min"
    steps = ("count-vocabulary", "/novels/speed/elmo_adaptive -o", f"-s {model} -o")
    assert_in_order(lines, (*steps, "/tasks/snli.elmo_adaptive-15min -o"))
    *_, training, run = filter(is_training, lines)
    assert f"FASTTEXT_MODEL_PATH={tmp_path}/novels/vectors.bin" in training
    assert f"LM_ARCHIVE_PATH={model}/model.tar.gz" in run

    lines = lines_of(tmp_path, tmp_path / "tasks/yor.elmo_semfit/done")
    steps = ("prepare-corpus /data/lm/yor/raw.txt", "train-fasttext", "yor/models", "tasks/yor.")
    assert_in_order(lines, steps)
    assert any(f"NER_TEST_DATA_PATH={tmp_path}/data/yor_test.conll" in line for line in lines)

    lines = lines_of(tmp_path, tmp_path / "tasks/snli.bert-5min/done")
    (peer,) = (line for line in lines if "experiments.peers.train bert" in line)
    directory = f"{tmp_path}/novels/models/bert-5min"
    assert peer.endswith(f"{tmp_path}/novels/train {directory} 5 1")
    (run,) = filter(is_training, lines)
    assert "WORD_REPRESENTATION=bert " in run
    assert f"PEER_PATH={directory} " in run


@pytest.mark.parametrize(("model", "seconds"), [("elmo_semfit", 60.5), ("elmo", 0)])
def test_minutes_include_those_of_fasttext(model, seconds, tmp_path):
    done = tmp_path / "novels" / "speed" / model
    done.mkdir(parents=True)
    (done / "done").touch()
    (done / "record.json").write_text('{"updates": 300, "seconds": 90.0}')
    (tmp_path / "novels" / "vectors.seconds").write_text("60.5\n")
    config = tmp_path / f"configs/{model}-15min.jsonnet"
    make(tmp_path, config)
    built = json.loads(_jsonnet.evaluate_file(str(config), ext_vars=VARIABLES))
    updates = int((15 * 60 - seconds) / 90 * 300)
    assert built["data_loader"]["batches_per_epoch"] == updates


def test_finished_runs_are_counted_and_not_run_again(tmp_path):
    for run in ("ner.fasttext", "coref.fasttext", "bc5cdr.elmo_semfit-5min"):
        (tmp_path / "tasks" / run).mkdir(parents=True)
        (tmp_path / "tasks" / run / "done").touch()
    lines = lines_of(tmp_path, "results")
    bc5cdr, ner = sorted(line for line in lines if "experiments.sentence_scores" in line)
    assert bc5cdr.endswith(f"{tmp_path}/novels/vocabulary")
    assert "vocabulary" not in ner
    assert_in_order(lines, ("experiments.collect_results", "experiments.pages"))
    assert not any(map(is_training, lines))
