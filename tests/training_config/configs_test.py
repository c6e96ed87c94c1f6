"""What holds for all configs, and what the configs of the paper's size are."""

import json
import re
from pathlib import Path

import _jsonnet
import pytest

from tests.training_config.language_models_test import CONFIGS, PAPER_VARIABLES, evaluate

MAIN = CONFIGS / "elmo_semfit.jsonnet"


def test_a_config_says_how_to_run_it():
    for path in CONFIGS.rglob("*.jsonnet"):
        command = f"allennlp train {path.relative_to(CONFIGS.parent)} --include-package"
        assert command in path.read_text("utf-8")


def test_no_config_is_a_function():
    for path in CONFIGS.rglob("*sonnet"):
        assert not re.search(r"\bfunction\b|^local \w+\(", path.read_text("utf-8"), re.MULTILINE)


def test_the_main_config_stands_alone():
    assert "import" not in MAIN.read_text("utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_pages_show_the_main_config(page):
    assert MAIN.read_text("utf-8") in (CONFIGS.parent / page).read_text("utf-8")


@pytest.mark.parametrize("num_machines", [1, 2])
def test_the_papers_training_is_ten_epochs_of_one_billion_words(num_machines):
    snippet = f"import '{CONFIGS}/one_billion_word/elmo_semfit.jsonnet'"
    if num_machines > 1:
        snippet = f"({snippet}) + (import '{CONFIGS}/several_machines.libsonnet')"
    variables = {**PAPER_VARIABLES, "NUM_MACHINES": "2", "PRIMARY_ADDRESS": "10.0.0.1"}
    config = json.loads(_jsonnet.evaluate_snippet("snippet", snippet, ext_vars=variables))
    assert config["trainer"]["num_epochs"] == 10
    distributed = config["distributed"]
    num_processes = len(distributed["cuda_devices"]) * distributed.get("num_nodes", 1)
    assert num_processes == 4 * num_machines
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
    snippet = f"(import '{MAIN}') + (import '{CONFIGS}/several_machines.libsonnet')"
    variables = {"NUM_MACHINES": "2", "PRIMARY_ADDRESS": "10.0.0.1"}
    config = json.loads(_jsonnet.evaluate_snippet("snippet", snippet, ext_vars=variables))
    assert config["distributed"] == {
        "cuda_devices": [0],
        "num_nodes": 2,
        "primary_address": "10.0.0.1",
        "primary_port": 29500,
    }
    alone = evaluate(MAIN)
    assert config["data_loader"] == alone["data_loader"]
    before = alone["trainer"]["learning_rate_scheduler"]
    after = config["trainer"]["learning_rate_scheduler"]
    assert after == {**before, "num_replicas": 2 * before["num_replicas"]}


def test_the_configs_of_the_tutorial_can_be_evaluated(tmp_path):
    page = (CONFIGS.parent / "docs" / "tutorial.md").read_text("utf-8")
    (tmp_path / "training_config").symlink_to(CONFIGS)
    names = ("elmo_semfit", "ner-elmo_semfit", "ner-fasttext", "yoruba")
    blocks = re.findall(r"```jsonnet\n(.*?)```", page, re.DOTALL)
    variables = {f"NER_{part}_DATA_PATH": "data" for part in ("TRAIN", "DEV", "TEST")}
    for name, block in zip(names, blocks, strict=True):
        (tmp_path / f"{name}.jsonnet").write_text(block, "utf-8")
        assert evaluate(tmp_path / f"{name}.jsonnet", LM_ARCHIVE_PATH="x", **variables)
