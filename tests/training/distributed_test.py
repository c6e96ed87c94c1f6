"""Training in several processes, and on several machines that are one, on the CPU."""

import json
import random
from functools import partial

import pytest
import torch
from allennlp.commands.train import TrainModel, train_model, train_model_from_file
from allennlp.common import Params
from allennlp.common.util import find_open_port, prepare_environment
from allennlp.data import Vocabulary
from torch.multiprocessing import start_processes

import allennlp_semfit  # noqa: F401 (registers what configs name, in spawned processes too)
from tests import FIXTURES, ROOT, VALIDATION
from tests.processes import fork, run_in_two_processes

CONFIG = FIXTURES / "language_model.jsonnet"
SENTENCES_PER_STEP = 8
WORDS = VALIDATION.read_text("utf-8").split()

HEADS = {
    "semfit": {},
    "contrastive": {"model.head": {"type": "contrastive", "input_dim": 6, "embedding_dim": 10}},
    # The last two words come seldom: most batches of one process have neither.
    "adaptive": {
        "model.head": {
            "type": "adaptive_softmax",
            "input_dim": 6,
            "cutoffs": [10, 45],
            "div_value": 2.0,
        }
    },
    "sampled": {"model.head": {"type": "sampled_softmax", "input_dim": 6, "num_samples": 8}},
    "sparse": {
        "model.head": {"type": "sampled_softmax", "input_dim": 6, "num_samples": 8, "sparse": True},
        "trainer.grad_norm": False,
    },
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Where the corpus and its vocabulary are."""
    directory = tmp_path_factory.mktemp("inputs")
    draw = random.Random(0)
    lines = [" ".join(draw.choices(WORDS, k=6)) + "\n" for _ in range(5 * SENTENCES_PER_STEP)]
    (directory / "corpus.txt").write_text("".join(lines), "utf-8")
    words = ["</s>", *dict.fromkeys(WORDS)]
    Vocabulary(tokens_to_add={"tokens": words}).save_to_files(directory / "vocabulary")
    return directory


def overrides_of(inputs, num_processes, head="semfit"):
    overrides = {
        "train_data_path": str(inputs / "corpus.txt"),
        "validation_data_path": str(inputs / "corpus.txt"),
        "data_loader": {"batch_size": SENTENCES_PER_STEP // num_processes},
        "model.contextualizer.dropout": 0.0,
        "trainer.optimizer": {"type": "sgd", "lr": 0.5},
        "trainer.num_epochs": 1,
        **HEADS[head],
    }
    if head not in ("semfit", "contrastive"):
        overrides["vocabulary"] = {"type": "from_files", "directory": str(inputs / "vocabulary")}
        overrides["trainer.validation_metric"] = "-perplexity"
        overrides["dataset_reader.token_indexers.tokens"] = {"type": "single_id"}
        overrides["model.text_field_embedder.token_embedders.tokens"] = {"type": "empty"}
    return overrides


def assert_same_training(state, metrics, others):
    other_state, other_metrics = others
    torch.testing.assert_close(state, other_state, rtol=1e-5, atol=1e-5)
    for name in ("training_loss", "training_cosine", "validation_cosine"):
        assert metrics[name] == pytest.approx(other_metrics[name], rel=1e-5), name


def training_in(directory):
    # The parameters of the last step, whichever epoch was the best.
    state = torch.load(directory / "model_state_e1_b0.th")
    return state, json.loads((directory / "metrics.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def alone(inputs, tmp_path_factory):
    directory = tmp_path_factory.mktemp("alone")
    params = Params.from_file(CONFIG, overrides_of(inputs, 1))
    train_model(params, directory, force=True)
    return training_in(directory)


def train_here(global_rank, world_size, gpu_id, inputs, directory):
    # What `allennlp train` does in each of its processes; it keeps the state of one of them only.
    for head in HEADS:
        overrides = overrides_of(inputs, world_size, head)
        place = {"distributed": True, "world_size": world_size, "cuda_device": gpu_id}
        overrides.update({f"trainer.{key}": value for key, value in place.items()})
        serialization_dir = directory / f"{head}-{global_rank}"
        serialization_dir.mkdir()
        params = Params.from_file(CONFIG, overrides)
        prepare_environment(params)
        loop = TrainModel.from_params(
            params=params, serialization_dir=serialization_dir, local_rank=global_rank
        )
        metrics = loop.run()
        if global_rank == 0:
            loop.finish(metrics)
        torch.save((loop.model.state_dict(), metrics), directory / f"{head}-{global_rank}.th")


def test_two_processes_stay_alike_and_learn_what_one_learns_from_both_batches(
    inputs, alone, tmp_path
):
    run_in_two_processes(train_here, inputs, tmp_path)
    for head in HEADS:
        (first, metrics), (second, _) = (
            torch.load(tmp_path / f"{head}-{rank}.th", weights_only=False) for rank in (0, 1)
        )
        assert first.keys() == second.keys()
        for name in first:
            assert torch.equal(first[name], second[name]), (head, name)
        if head == "semfit":
            assert_same_training(first, metrics, alone)


def test_two_machines_learn_what_one_process_learns(inputs, alone, tmp_path, monkeypatch):
    config = tmp_path / "two_machines.jsonnet"
    mixin = ROOT / "training_config" / "several_machines.libsonnet"
    config.write_text(f"(import {json.dumps(str(CONFIG))}) + (import {json.dumps(str(mixin))})")
    monkeypatch.setenv("NUM_MACHINES", "2")
    monkeypatch.setenv("PRIMARY_ADDRESS", "127.0.0.1")
    overrides = {
        **overrides_of(inputs, 2),
        "distributed.cuda_devices": [-1],
        "distributed.primary_port": find_open_port(),
        # Here a step has as many sentences as before.
        "trainer.learning_rate_scheduler.num_replicas": 1,
    }
    # A spawned process would import all again.
    start = partial(start_processes, start_method="fork")
    monkeypatch.setattr("torch.multiprocessing.spawn", start)
    machines = [
        fork(
            train_model_from_file,
            config,
            tmp_path / f"machine-{rank}",
            overrides,
            node_rank=rank,
            include_package=["allennlp_semfit"],
        )
        for rank in (0, 1)
    ]
    for machine in machines:
        machine.join()
        assert machine.exitcode == 0
    for rank in (0, 1):
        assert_same_training(*training_in(tmp_path / f"machine-{rank}"), alone)
        assert (tmp_path / f"machine-{rank}" / "model.tar.gz").exists()
