"""`allennlp train` and what follows it, as a user runs them: in processes of their own."""

import json
import signal

import pytest
import torch
from allennlp.commands.train import train_model_from_file
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError

from tests import FIXTURES, ROOT, VALIDATION, VECTORS
from tests.processes import run_module
from tests.training.large_batch_test import closed_form

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


def test_predict_gives_the_layers_of_a_sentence(trained, tmp_path):
    sentences = tmp_path / "sentences.jsonl"
    sentences.write_text('{"sentence": "The captain closed the gate ."}\n{"sentence": "Snow ."}\n')
    output = tmp_path / "layers.jsonl"
    arguments = ["predict", trained / "model.tar.gz", sentences, "--output-file", output]
    allennlp(*arguments, "--silent", output=tmp_path / "log")
    first, second = (json.loads(line) for line in output.read_text().splitlines())
    assert second["tokens"] == ["Snow", "."]
    assert [len(layer) for layer in first["layers"]] == [6, 6, 6]
    assert {len(vector) for layer in first["layers"] for vector in layer} == {12}


def test_show_training_tells_the_figures_and_the_next_commands(trained, tmp_path):
    shown = allennlp("show-training", trained, output=tmp_path / "log").output
    metrics = metrics_of(trained)
    assert f"{metrics['validation_cosine']:.4f}" in shown
    assert f"{metrics['validation_baseline_cosine']:.4f}" in shown
    assert str(trained / "model.tar.gz") in shown
    for command in ("evaluate", "predict", "embed"):
        assert f"allennlp {command}" in shown


def test_a_killed_run_goes_on_from_its_last_checkpoint_at_the_same_step_of_the_schedule(tmp_path):
    schedule = {"num_replicas": 2, "warmup_steps": 3, "decay_start": 14, "decay_end": 24}
    overrides = {
        "data_loader.batch_size": 6,  # 54 sentences, 9 batches, and 5 steps per epoch
        "trainer.num_gradient_accumulation_steps": 2,
        "trainer.num_epochs": 3,
        "trainer.learning_rate_scheduler": {"type": "large_batch", **schedule},
        "trainer.checkpointer.save_every_num_batches": 2,
        "trainer.callbacks": ["step_recorder", {"type": "tensorboard", "summary_interval": 1}],
    }
    recorder = ("--include-package", "tests.step_recorder")
    directory = tmp_path / "run"
    # In the middle of the second epoch.
    process = train(directory, overrides, *recorder, check=False, KILL_AFTER_STEP="9")
    assert process.returncode == -signal.SIGKILL, process.output
    assert not (directory / "model.tar.gz").exists()
    records = directory / "steps.txt"
    before = [line.split() for line in records.read_text().splitlines()]
    assert [int(step) for step, _ in before] == list(range(1, 10))
    records.unlink()

    train(directory, overrides, "--recover", *recorder)
    assert (directory / "model.tar.gz").exists()
    after = [line.split() for line in records.read_text().splitlines()]
    first = int(after[0][0])
    # Past the end of the first epoch, and no later than where the run was killed.
    assert 5 < first <= 10
    assert [int(step) for step, _ in after] == list(range(first, 16))
    for step, rate in before + after:
        expected = 0.01 * closed_form(int(step), **schedule)
        assert float(rate) == pytest.approx(expected), step
    # The resumed run's file of TensorBoard's, which replaces one of the same second.
    last = sorted((directory / "log" / "train").iterdir())[-1]
    assert b"train/batch_cosine" in last.read_bytes()


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


def test_an_archive_of_another_directory_takes_the_vectors_from_where_it_is_told(
    trained, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    arguments = ["evaluate", trained / "model.tar.gz", VALIDATION]
    process = allennlp(*arguments, check=False, output=tmp_path / "log")
    assert "fastText model test_fixtures/vectors.bin does not exist" in process.output
    key = "dataset_reader.token_indexers.fasttext.model_path"
    assert f'-o \'{{"{key}"' in process.output
    allennlp(*arguments, "-o", json.dumps({key: VECTORS}), output=tmp_path / "log")


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
