"""`allennlp train` with a language model; tests/reliability has it as a process."""

import json

import pytest
from allennlp.commands.train import train_model_from_file
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError

from allennlp_semfit.commands.show_training import describe_training
from tests import FIXTURES

CONFIG = str(FIXTURES / "language_model.jsonnet")
LOADER = {
    "type": "watched",
    "batch_size": 8,
    "shuffle": True,
    "num_workers": 2,
    "max_instances_in_memory": 16,
}


def test_training_learns_something(tmp_path):
    overrides = {"trainer.num_epochs": 12, "trainer.optimizer.lr": 0.03}
    train_model_from_file(CONFIG, tmp_path / "run", overrides)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    first = json.loads((tmp_path / "run" / "metrics_epoch_0.json").read_text())
    # The first epoch begins with what all targets have in common.
    assert metrics["best_validation_cosine"] > metrics["best_validation_baseline_cosine"] + 0.01
    assert metrics["best_validation_cosine"] > first["validation_cosine"]
    assert first["validation_cosine"] > 0.9 * first["validation_baseline_cosine"]
    assert metrics["training_cosine"] > metrics["training_baseline_cosine"]
    # The fixtures are little text.
    assert "WARNING: a baseline above" in describe_training(str(tmp_path / "run"))


def test_the_error_of_a_worker_names_the_file(tmp_path):
    latin = tmp_path / "latin.txt"
    latin.write_bytes("schön\n".encode("latin-1"))
    overrides = {"train_data_path": str(latin), "data_loader": LOADER}
    with pytest.raises(WorkerError, match=f"{latin}: not UTF-8: byte 0xf6 in line 1"):
        train_model_from_file(CONFIG, tmp_path / "run", overrides)
