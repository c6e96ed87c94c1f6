import json
from types import SimpleNamespace

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from allennlp_semfit.common.text_files import find_text_files
from experiments import run_record
from experiments.run_record import RunRecord
from tests import FIXTURES

NUM_EPOCHS = 3


def train(directory, **kwargs):
    overrides = {
        "trainer.callbacks": ["run_record"],
        "trainer.num_epochs": NUM_EPOCHS,
        "trainer.checkpointer": {"save_every_num_batches": 1, "keep_most_recent_by_count": 2},
        "trainer.cuda_device": -1,
    }
    params = Params.from_file(FIXTURES / "language_model.jsonnet", json.dumps(overrides))
    return train_model(params, serialization_dir=directory, **kwargs)


def record_of(directory):
    return json.loads((directory / "record.json").read_text())


def count_tokens(path):
    """Of the words and the ends of sentences."""
    sentences = [line.split() for file in find_text_files([path]) for line in file.open()]
    return sum(len(sentence) + 1 for sentence in sentences if sentence)


def test_it_counts_what_the_training_read(tmp_path):
    model = train(tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    record = record_of(tmp_path / "run")
    assert record["tokens"] == NUM_EPOCHS * count_tokens(config["train_data_path"])
    assert record["trainable_parameters"] == sum(
        parameter.numel() for parameter in model.parameters() if parameter.requires_grad
    )
    assert record["device"] == "cpu"
    assert record["commit"]


def test_a_resumed_training_has_the_record_of_an_uninterrupted_one(tmp_path, monkeypatch):
    train(tmp_path / "whole")
    whole = record_of(tmp_path / "whole")
    on_batch = RunRecord.on_batch

    def interrupt(self, *args, **kwargs):
        on_batch(self, *args, **kwargs)
        if self._updates == whole["updates"] // 2 + 1:
            raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(RunRecord, "on_batch", interrupt)
        with pytest.raises(InterruptedError):
            train(tmp_path / "run")
    monkeypatch.setattr(run_record, "describe_commit", lambda: "later")
    train(tmp_path / "run", recover=True)
    found = record_of(tmp_path / "run")
    for key in ("updates", "tokens", "trainable_parameters"):
        assert found[key] == whole[key]
    assert found["commit"] == f"{whole['commit']}, later"


def test_only_updates_count_as_time(tmp_path, monkeypatch):
    now = 0.0
    on_batch = RunRecord.on_batch

    def take_time(self, *args, is_training, **kwargs):
        nonlocal now
        now += 1 if is_training else 100
        on_batch(self, *args, is_training=is_training, **kwargs)

    monkeypatch.setattr(RunRecord, "on_batch", take_time)
    monkeypatch.setattr(
        run_record, "time", SimpleNamespace(perf_counter=None, process_time=lambda: now)
    )
    train(tmp_path / "run")
    record = record_of(tmp_path / "run")
    assert record["seconds"] == record["updates"]
