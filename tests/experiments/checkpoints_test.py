import json
import os
import shutil

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common.params import Params

from experiments.checkpoints import nearest_checkpoint, write_archive
from experiments.run_records import find_checkpoints
from tests import FIXTURES, VECTORS
from tests.processes import run_module
from tests.training_config.language_models_test import CONFIGS, config_of

SIZES = {"embedding_dim": 10, "hidden_dim": 6, "cell_size": 8, "num_epochs": 2, "num_updates": 6}


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """Two epochs of three updates of 10 seconds, all kept; it began at the second 1,000."""
    directory = tmp_path_factory.mktemp("runs") / "elmo_semfit"
    variables = {
        "ONE_BILLION_WORD": "corpus",
        "LM_TRAIN_DATA_PATH": str(FIXTURES / "corpus" / "train"),
        "LM_DEV_DATA_PATH": str(FIXTURES / "corpus" / "heldout.txt"),
        "FASTTEXT_MODEL_PATH": VECTORS,
    }
    overlay = f"""(import '{CONFIGS}/laptop/override.libsonnet') + {{
        sizes+:: {json.dumps(SIZES)},
        data_loader+: {{ batch_sampler+: {{ batch_size: 8 }} }},
        trainer+: {{ checkpointer+: {{ save_every_num_batches: 1 }}, cuda_device: -1 }},
    }}"""
    path = CONFIGS / "one_billion_word" / "elmo_semfit.jsonnet"
    train_model(Params(config_of(path, variables, overlay)), serialization_dir=directory)
    for file in directory.glob("*.th"):
        if "_e" in file.name:
            epoch, batch = (int(part[1:]) for part in file.stem.split("_")[-2:])
            seconds = 1000 + 10 * (3 * epoch + batch)
            os.utime(file, (seconds, seconds))
    return directory


def test_checkpoints_are_kept_with_their_updates_and_seconds(training):
    checkpoints = find_checkpoints(training)
    assert [(each.updates, each.seconds) for each in checkpoints] == [
        (updates, 10 * updates) for updates in range(1, 7)
    ]
    assert nearest_checkpoint(checkpoints, 34).updates == 3
    assert nearest_checkpoint(checkpoints, 36).updates == 4
    assert nearest_checkpoint(checkpoints, 900).updates == 6


def test_an_archive_has_the_weights_of_its_checkpoint(training, tmp_path):
    text = str(FIXTURES / "corpus" / "heldout.txt")
    first, last = find_checkpoints(training)[0], find_checkpoints(training)[-1]
    write_archive(first, tmp_path / "first.tar.gz")
    write_archive(last, tmp_path / "last.tar.gz")
    metrics = json.loads((training / "metrics.json").read_text())
    cosine = evaluate_from_archive(tmp_path / "last.tar.gz", text)["cosine"]
    assert cosine == pytest.approx(metrics["validation_cosine"], rel=1e-5)
    assert evaluate_from_archive(tmp_path / "first.tar.gz", text)["cosine"] < cosine - 1e-4


def test_the_checkpoint_in_the_time_of_another_run(training, tmp_path):
    # As many updates in half of the time.
    faster = tmp_path / "faster"
    shutil.copytree(training, faster)
    for file in faster.glob("*.th"):
        seconds = training.joinpath(file.name).stat().st_mtime / 2
        os.utime(file, (seconds, seconds))
    out = tmp_path / "equal_time" / "elmo.tar.gz"
    arguments = [training, faster, out]
    run_module("experiments.checkpoints", *arguments, output=tmp_path / "log")
    assert json.loads(out.with_name("elmo.json").read_text()) == {"updates": 3, "seconds": 30}
    text = str(FIXTURES / "corpus" / "heldout.txt")
    (third,) = (each for each in find_checkpoints(training) if each.updates == 3)
    write_archive(third, tmp_path / "third.tar.gz")
    assert evaluate_from_archive(out, text) == evaluate_from_archive(
        tmp_path / "third.tar.gz", text
    )


def test_a_run_without_checkpoints_is_named(training, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(training / "config.json", bare)
    arguments = [bare, training, "x.tar.gz"]
    log = tmp_path / "log"
    process = run_module("experiments.checkpoints", *arguments, output=log, check=False)
    assert process.returncode == 1
    assert f"checkpoints: {bare} has fewer than two checkpoints" in process.output
