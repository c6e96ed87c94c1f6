"""The configs of ELMo-S are built, with their paths pointed at fixtures, so that none rots."""

import json
import re
from pathlib import Path

import _jsonnet
import pytest
import torch
from allennlp.common.params import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import DataLoader
from allennlp.models import Model
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.optimizers import Optimizer

from tests import FIXTURES, VECTORS

CONFIGS = FIXTURES.parent / "training_config"
ENVIRONMENT = {
    "ONE_BILLION_WORD": str(FIXTURES / "one_billion_word"),
    "FASTTEXT_MODEL_PATH": VECTORS,
    "NUM_MACHINES": "2",
    "PRIMARY_ADDRESS": "10.0.0.1",
}
ONE_BILLION_WORD = [
    CONFIGS / "one_billion_word" / f"{name}.jsonnet" for name in ("elmo_semfit", "several_machines")
]


def config_of(path):
    config = Params.from_file(str(path), ext_vars=ENVIRONMENT).as_dict(quiet=True)
    config["dataset_reader"]["token_indexers"]["fasttext"]["model_path"] = VECTORS
    return config


# `language_models_test.py` trains the paper's, and `downstream_test.py` the tasks.
@pytest.fixture(
    params=[CONFIGS / "elmo_semfit.jsonnet", *ONE_BILLION_WORD],
    ids=lambda path: str(path.relative_to(CONFIGS)),
)
def config(request):
    return config_of(request.param)


def test_a_config_says_how_to_run_it():
    for path in CONFIGS.rglob("*.jsonnet"):
        command = f"allennlp train {path.relative_to(CONFIGS.parent)} --include-package"
        assert command in path.read_text("utf-8")


def test_its_parts_can_be_built(config):
    with torch.device("meta"):
        model = Model.from_params(Params(config["model"]), vocab=Vocabulary.empty())
    assert config["vocabulary"] == {"type": "empty"}
    reader = DatasetReader.from_params(Params(config["dataset_reader"]))
    for section in ("data_loader", "validation_data_loader"):
        loader = DataLoader.from_params(
            Params({**config[section], "max_instances_in_memory": 1000}),
            reader=reader,
            data_path=str(FIXTURES / "corpus" / "train"),
        )
        loader.index_with(Vocabulary.empty())
        assert next(iter(loader))["source"]["fasttext"]["vectors"].size(-1) == 10
    optimizer = Optimizer.from_params(
        Params(config["trainer"]["optimizer"]), model_parameters=list(model.named_parameters())
    )
    scheduler = LearningRateScheduler.from_params(
        Params(config["trainer"]["learning_rate_scheduler"]), optimizer=optimizer
    )
    scheduler.step_batch(1)


def test_the_config_that_the_readme_shows_can_be_built():
    root = CONFIGS.parent
    (code,) = re.findall(
        r"```jsonnet\n(.*?)```", (root / "README.md").read_text("utf-8"), re.DOTALL
    )
    config = json.loads(_jsonnet.evaluate_snippet(str(root / "mine.jsonnet"), code))
    model = Model.from_params(Params(config["model"]), vocab=Vocabulary.empty())
    assert model.num_layers() == 3
    assert config["trainer"]["learning_rate_scheduler"]["decay_end"] == 4 * 4 * 57000 / 16


@pytest.mark.parametrize("path", ONE_BILLION_WORD, ids=lambda path: path.stem)
def test_the_papers_training_is_ten_epochs_of_one_billion_words(path):
    config = config_of(path)
    assert config["trainer"]["num_epochs"] == 10
    distributed = config["distributed"]
    num_processes = len(distributed["cuda_devices"]) * distributed.get("num_nodes", 1)
    loader = config["data_loader"]
    sentences = loader["batches_per_epoch"] * loader["batch_sampler"]["batch_size"] * num_processes
    assert sentences == pytest.approx(30_301_028, rel=1e-3)
    schedule = config["trainer"]["learning_rate_scheduler"]
    updates = loader["batches_per_epoch"] * config["trainer"]["num_epochs"]
    assert schedule["num_replicas"] == num_processes
    # The last half batch of an epoch that is divided among machines is rounded away.
    assert schedule["decay_end"] == pytest.approx(num_processes * updates, rel=2e-4)
    assert Path(config["train_data_path"]).name == "news.en-*"


def test_any_config_goes_to_several_machines():
    snippet = f"""(import {json.dumps(str(CONFIGS / "elmo_semfit.jsonnet"))})
        + (import {json.dumps(str(CONFIGS / "lib" / "several_machines.libsonnet"))})"""
    alone = config_of(CONFIGS / "elmo_semfit.jsonnet")
    config = json.loads(_jsonnet.evaluate_snippet("snippet", snippet, ext_vars=ENVIRONMENT))
    assert config["distributed"] == {
        "num_nodes": 2,
        "primary_address": "10.0.0.1",
        "primary_port": 29500,
    }
    assert config["data_loader"] == alone["data_loader"]
    before = alone["trainer"]["learning_rate_scheduler"]
    after = config["trainer"]["learning_rate_scheduler"]
    assert after == {**before, "num_replicas": 2 * before["num_replicas"]}
