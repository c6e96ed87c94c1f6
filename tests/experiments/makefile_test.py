"""What the Makefile of the experiments runs."""

import json
import os
import re
import subprocess

import _jsonnet
import pytest

from tests import FIXTURES

EXPERIMENTS = FIXTURES.parent / "experiments"
VARIABLES = {
    name: f"/{name}"
    for directory in (EXPERIMENTS, EXPERIMENTS.parent / "training_config")
    for file in directory.rglob("*sonnet")
    for name in re.findall(r"extVar\('(\w+)'\)", file.read_text("utf-8"))
}


def make(out, *arguments):
    command = ["make", "-C", EXPERIMENTS, f"OUT={out}", *map(str, arguments)]
    environment = {**os.environ, "SEMFIT_DATA": "/data"}
    return subprocess.check_output(command, env=environment, text=True)


def test_all_language_models_have_the_same_text_and_schedule(tmp_path):
    make(tmp_path, "configs")
    files = sorted((tmp_path / "configs").glob("*.jsonnet"))
    assert len(files) == 4
    trainings = set()
    for file in files:
        config = json.loads(_jsonnet.evaluate_file(str(file), ext_vars=VARIABLES))
        assert config["train_data_path"] == "/LM_TRAIN_DATA_PATH"
        assert "run_record" in config["trainer"]["callbacks"]
        schedule = config["trainer"]["learning_rate_scheduler"]
        trainings.add(json.dumps([config["data_loader"], schedule], sort_keys=True))
    assert len(trainings) == 1


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


def test_everything_can_be_made(tmp_path):
    commands = make(tmp_path, "--dry-run", "SEED=3")
    assert '"random_seed": 3, "numpy_seed": 3, "pytorch_seed": 3' in commands
    for module in ("senteval", "embedding_speed", "sample_lines"):
        assert f"-m experiments.{module} " in commands
