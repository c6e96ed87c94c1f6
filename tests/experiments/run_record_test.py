import json
import os
import subprocess
from types import SimpleNamespace

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from allennlp_semfit.common.text_files import find_text_files
from experiments import run_record
from experiments.run_record import RunRecord
from tests import FIXTURES

OVERRIDES = {
    "trainer.callbacks": ["run_record"],
    "trainer.num_epochs": 3,
    "trainer.checkpointer": {"save_every_num_batches": 1, "keep_most_recent_by_count": 2},
    "trainer.cuda_device": -1,
}


def test_an_interrupted_training_has_the_record_of_what_it_read(tmp_path, monkeypatch):
    now = 0.0
    on_batch = RunRecord.on_batch

    def take_time(self, *args, is_training, **kwargs):
        nonlocal now
        now += 1 if is_training else 100
        on_batch(self, *args, is_training=is_training, **kwargs)
        if is_interrupted and self._steps == 3:
            raise InterruptedError

    def train(**kwargs):
        params = Params.from_file(FIXTURES / "language_model.jsonnet", json.dumps(OVERRIDES))
        return train_model(params, serialization_dir=tmp_path / "run", **kwargs)

    clocks = SimpleNamespace(perf_counter=None, process_time=lambda: now)
    monkeypatch.setattr(run_record, "time", clocks)
    monkeypatch.setattr(RunRecord, "on_batch", take_time)
    commits = iter(["a1", "b2"])
    monkeypatch.setattr(run_record, "describe_commit", lambda: next(commits))
    is_interrupted = True
    with pytest.raises(InterruptedError):
        train()
    is_interrupted = False
    model = train(recover=True)

    config = json.loads((tmp_path / "run" / "config.json").read_text())
    files = find_text_files([config["train_data_path"]])
    sentences = [line.split() for file in files for line in file.open() if line.strip()]
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    # Of the words and the ends of sentences.
    assert record["tokens"] == 3 * sum(len(sentence) + 1 for sentence in sentences)
    assert record["steps"] % 3 == 0
    # Validation does not count.
    assert record["seconds"] == pytest.approx(record["steps"])
    parameters = [each.numel() for each in model.parameters() if each.requires_grad]
    assert record["trainable_parameters"] == sum(parameters)
    assert (record["device"], record["commit"]) == ("cpu", "a1, b2")


def test_results_do_not_make_a_commit_dirty(tmp_path, monkeypatch):
    # It may ask for hooks or signatures.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a")
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True)

    code, results = tmp_path / "experiments" / "a.py", tmp_path / "experiments" / "results" / "a"
    results.parent.mkdir(parents=True)
    monkeypatch.setattr(run_record, "__file__", str(code))
    git("init", "-q")
    code.write_text("1")
    results.write_text("1")
    git("add", ".")
    git("commit", "-qm", "a")
    commit = run_record.describe_commit()
    results.write_text("2")
    assert run_record.describe_commit() == commit
    code.write_text("2")
    assert run_record.describe_commit() == f"{commit}-dirty"
