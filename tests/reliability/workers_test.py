"""
A training with data loader workers ends, however it ends: without a process left, or the traceback
of a worker.
"""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from tests import FIXTURES, TRAIN, VECTORS
from tests.processes import is_running, start_module, wait_until

SECONDS = 600
"""A training that takes longer hangs, even on a busy machine."""
LOADER = {
    "type": "watched",
    "batch_size": 8,
    "num_workers": 3,
    "max_instances_in_memory": 64,
    "batches_per_epoch": 20,
}
ENDLESS = {"trainer.num_epochs": 1_000_000, "data_loader": {**LOADER, "batches_per_epoch": 200}}
FAILS = {"trainer.validation_metric": "+unknown"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """More sentences than the workers' queues hold."""
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    shards = sorted(TRAIN.iterdir())
    path.write_text("".join(shard.read_text("utf-8") for shard in shards) * 300, "utf-8")
    return path


@pytest.fixture
def start(corpus, tmp_path):
    """A function that starts a training, in a process group, and returns its process."""
    (tmp_path / "run.usage").touch()
    (tmp_path / "run.tmp").mkdir()

    def start(overrides):
        overrides = {"train_data_path": str(corpus), "data_loader": LOADER, **overrides}
        arguments = ["train", FIXTURES / "language_model.jsonnet", "-s", tmp_path / "run"]
        arguments += ["--include-package", "allennlp_semfit", "-o", json.dumps(overrides)]
        # Without a fault, only the group.
        watched = (tmp_path / "run", 0, 0, -1)
        return start_module(
            "tests.reliability.watched", *watched, *arguments, output=tmp_path / "log"
        )

    return start


def end(process, log):
    """Its exit code and log."""
    process.join(SECONDS)
    hangs = process.is_alive()
    process.kill()
    process.join()
    text = log.read_text("utf-8", "replace")
    assert not hangs, text
    wait_until(lambda: not is_running(-process.pid))
    assert "was killed by" not in text
    # Nor the traceback of a worker.
    assert not re.search(r"^Process \w*Process-\d+:", text, re.MULTILINE), text
    return process.exitcode, text


@pytest.mark.parametrize(
    "overrides",
    [
        {"data_loader": {**LOADER, "num_workers": 1}, "validation_data_loader": LOADER},
        {"data_loader": {**LOADER, "num_workers": 1, "start_method": "spawn"}},
    ],
    ids=["validation", "spawn"],
)
def test_a_run_ends(overrides, start, tmp_path):
    code, log = end(start(overrides), tmp_path / "log")
    assert code == 0, log
    assert (tmp_path / "run" / "model.tar.gz").exists()
    assert "Traceback" not in log
    # What it logs is about workers that do not end.
    assert "multiprocess_data_loader" not in log


def test_a_run_that_fails_ends(start, tmp_path):
    code, log = end(start(FAILS), tmp_path / "log")
    assert code == 1
    assert "did not produce that metric" in log


@pytest.mark.parametrize(
    ("number", "to_all", "error"),
    [
        (signal.SIGINT, True, "KeyboardInterrupt"),
        (signal.SIGTERM, True, "SigTermReceived"),
        (signal.SIGTERM, False, "SigTermReceived"),
        (signal.SIGKILL, False, None),
    ],
)
def test_a_run_that_is_stopped_ends(number, to_all, error, start, tmp_path):
    process = start(ENDLESS)
    log = tmp_path / "log"
    # In the middle of an epoch: `logging` swallows AllenNLP's exception for SIGTERM.
    wait_until(lambda: log.exists() and "batch_loss" in log.read_text().partition("Epoch 1/")[2])
    os.kill(-process.pid if to_all else process.pid, number)
    code, text = end(process, log)
    assert code == (1 if error else -signal.SIGKILL), text
    assert (tmp_path / "run" / "model.tar.gz").exists() == bool(error)
    assert not error or error in text.splitlines()[-1]


SCRIPT = f"""
import sys
from allennlp.common.util import install_sigterm_handler
from allennlp.data import DataLoader, Vocabulary
from allennlp_semfit.data.fasttext_indexer import FastTextIndexer
from allennlp_semfit.data.language_modeling import LanguageModelingReader

def build(**kwargs):
    indexers = {{"fasttext": FastTextIndexer({VECTORS!r})}}
    loader = DataLoader.by_name("watched")(
        LanguageModelingReader(token_indexers=indexers), sys.argv[1], batch_size=8,
        num_workers=2, max_instances_in_memory=64, quiet=True, **kwargs
    )
    loader.index_with(Vocabulary.empty())
    return loader

if "handler" in sys.argv:
    install_sigterm_handler()
for batch in build():
    break
loader = build(batches_per_epoch=3)
print(len(list(loader)))
batches = iter(build())
next(batches)
"""


@pytest.mark.parametrize("handler", [[], ["handler"]])
def test_a_script_that_stops_iterating_ends(handler, corpus, tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    process = start_module("script", corpus, *handler, output=tmp_path / "log")
    assert end(process, tmp_path / "log") == (0, "3\n")


def test_the_command_itself_ends_in_several_processes(corpus, tmp_path):
    """In a process that is not prepared by the tests."""
    overrides = {
        "train_data_path": str(corpus),
        "data_loader": {**LOADER, "num_workers": 1},
        "distributed": {"cuda_devices": [-1, -1]},
    }
    command = [sys.executable, "-m", "allennlp", "train", FIXTURES / "language_model.jsonnet"]
    command += ["-s", tmp_path / "run", "--include-package", "allennlp_semfit"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "-o", json.dumps(overrides)],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    text = (tmp_path / "log").read_text("utf-8", "replace")
    assert code == 0, text
    assert (tmp_path / "run" / "model.tar.gz").exists()
    for message in ("Traceback", "was killed by", "multiprocess_data_loader"):
        assert message not in text
