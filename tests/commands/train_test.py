"""`allennlp train` and what follows it, as a user runs them: in processes of their own."""

import json

import pytest
import torch
from allennlp.commands.train import train_model_from_file
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError

from tests import FIXTURES, ROOT, VALIDATION
from tests.processes import run_module

CONFIG = str(FIXTURES / "language_model.jsonnet")


@pytest.fixture(autouse=True)
def _in_the_root(monkeypatch):
    # The config's paths are relative.
    monkeypatch.chdir(ROOT)


def allennlp(*args, output, **kwargs):
    return run_module(
        "allennlp", *args, "--include-package", "allennlp_semfit", output=output, **kwargs
    )


def train(directory, overrides=None, *args, **kwargs):
    arguments = ["train", CONFIG, "-s", directory, "-o", json.dumps(overrides or {}), *args]
    return allennlp(*arguments, output=directory.with_suffix(".log"), **kwargs)


def metrics_of(directory):
    return json.loads((directory / "metrics.json").read_text())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    directory = tmp_path_factory.mktemp("trained") / "run"
    overrides = {"trainer.num_epochs": 12, "trainer.optimizer.lr": 0.03}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        train(directory, overrides)
    return directory


def test_training_learns_something(trained):
    metrics = metrics_of(trained)
    first = json.loads((trained / "metrics_epoch_0.json").read_text())
    # The first epoch begins with what all targets have in common.
    assert metrics["best_validation_cosine"] > metrics["best_validation_baseline_cosine"] + 0.01
    assert metrics["best_validation_cosine"] > first["validation_cosine"]
    assert first["validation_cosine"] > 0.9 * first["validation_baseline_cosine"]
    assert metrics["training_cosine"] > metrics["training_baseline_cosine"]


def test_evaluate_gives_the_validation_figures_again(trained, tmp_path):
    output = tmp_path / "metrics.json"
    arguments = ["evaluate", trained / "model.tar.gz", VALIDATION, "--output-file", output]
    allennlp(*arguments, output=tmp_path / "log")
    metrics = metrics_of(trained)
    for name, value in json.loads(output.read_text()).items():
        assert value == pytest.approx(metrics[f"best_validation_{name}"], rel=1e-4), name


def test_the_seed_determines_a_run_with_two_workers(tmp_path, trained):
    overrides = {
        "data_loader": {
            "type": "watched",
            "batch_sampler": {"type": "bucket", "batch_size": 4, "sorting_keys": ["source"]},
            "num_workers": 2,
            "max_instances_in_memory": 16,
        },
        "trainer.num_epochs": 1,
    }
    weights = []
    for name in ("run", "again"):
        train(tmp_path / name, overrides)
        weights.append(torch.load(tmp_path / name / "best.th", weights_only=True))
    torch.testing.assert_close(*weights, rtol=0, atol=0)
    one_process = json.loads((trained / "metrics_epoch_0.json").read_text())
    # These depend on the words of an epoch and on nothing else, so that each was there once.
    for name in ("training_baseline_cosine", "validation_baseline_cosine"):
        assert metrics_of(tmp_path / "run")[name] == pytest.approx(one_process[name], rel=1e-6)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"dataset_reader.token_indexers.fasttext.model_path": "no/such.bin"},
            "fastText model no/such.bin does not exist",
        ),
        ({"train_data_path": "LATIN"}, "LATIN: not UTF-8: byte 0xf6 in line 1"),
        (
            {
                "train_data_path": "LATIN",
                "data_loader": {"batch_size": 8, "num_workers": 1, "max_instances_in_memory": 16},
            },
            "LATIN: not UTF-8: byte 0xf6 in line 1",
        ),
        (
            {
                "model.text_field_embedder.token_embedders.fasttext.embedding_dim": 9,
                "model.contextualizer.input_dim": 9,
                "model.head.embedding_dim": 9,
            },
            "`embedding_dim` is 9, but the file of its indexer has vectors of dimension 10",
        ),
    ],
    ids=["model_path", "UTF-8", "UTF-8 in a worker", "embedding_dim"],
)
def test_bad_input_ends_a_run_before_its_first_step(tmp_path, overrides, message):
    latin = tmp_path / "latin.txt"
    latin.write_bytes("schön\n".encode("latin-1"))
    overrides = json.loads(json.dumps(overrides).replace("LATIN", str(latin)))
    with pytest.raises((ConfigurationError, WorkerError)) as error:
        train_model_from_file(CONFIG, str(tmp_path / "run"), overrides)
    assert message.replace("LATIN", str(latin)) in str(error.value)
    assert not list(tmp_path.glob("run/model_state*"))
