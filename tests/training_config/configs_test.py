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


def test_the_main_config_stands_alone():
    assert not re.search(r"^[^/]*\bimport\b", MAIN.read_text("utf-8"), re.MULTILINE)


def test_its_fields_can_be_replaced_by_importing_configs():
    fields = "{ corpus:: 'data/mine', embedding_dim:: 7, hidden_dim:: 5 }"
    variables = {**PAPER_VARIABLES, "TABLE_PATH": "table"}
    for path in (MAIN, *sorted((CONFIGS / "language_models").glob("*.jsonnet"))):
        snippet = f"(import '{path}') + {fields}"
        config = json.loads(_jsonnet.evaluate_snippet("snippet", snippet, ext_vars=variables))
        text = json.dumps(config)
        assert "data/sample" not in text
        assert config["train_data_path"] == "data/mine/train"
        assert not config.keys() & {"corpus", "embedding_dim", "hidden_dim"}
        if path.stem not in ("elmo_semfit_cnn", "elmo_semfit_pca"):
            assert config["model"]["head"].get("embedding_dim", 7) == 7
        if path.stem != "masked_lm":
            assert config["model"]["head"]["input_dim"] == 5


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
    num_steps = loader["batches_per_epoch"] * config["trainer"]["num_epochs"]
    # The decay starts after half of the training by default.
    assert schedule == {"type": "large_batch", "num_replicas": num_processes, "warmup_steps": 500}
    assert num_processes * schedule["warmup_steps"] < num_steps / 10
    assert Path(config["train_data_path"]).name == "news.en-*"


@pytest.mark.parametrize("hidden_dim", [16, 1024])
@pytest.mark.parametrize("name", ["elmo_semfit_gated_cnn", "elmo_semfit_transformer", "masked_lm"])
def test_any_size_has_a_layer(name, hidden_dim):
    path = f"{CONFIGS}/language_models/{name}.jsonnet"
    snippet = f"(import '{path}') + {{ hidden_dim:: {hidden_dim} }}"
    config = json.loads(_jsonnet.evaluate_snippet("snippet", snippet))
    encoder = config["model"]["contextualizer"]
    sizes = encoder.get("encoder") or encoder["config"]
    assert sizes.get("layers") or sizes.get("num_layers") or sizes["num_hidden_layers"]


@pytest.mark.parametrize("one_device", ["{}", "{ distributed:: null }"])
def test_any_config_goes_to_several_machines(one_device):
    snippet = f"(import '{MAIN}') + {one_device} + (import '{CONFIGS}/several_machines.libsonnet')"
    variables = {"NUM_MACHINES": "2", "PRIMARY_ADDRESS": "10.0.0.1"}
    config = json.loads(_jsonnet.evaluate_snippet("snippet", snippet, ext_vars=variables))
    assert config["distributed"] == {
        "cuda_devices": [0],
        "num_nodes": 2,
        "primary_address": "10.0.0.1",
        "primary_port": 29500,
    }
    alone = evaluate(MAIN)
    assert (
        config["data_loader"]["batches_per_epoch"] == alone["data_loader"]["batches_per_epoch"] // 2
    )
    before = alone["trainer"]["learning_rate_scheduler"]
    after = config["trainer"]["learning_rate_scheduler"]
    assert after == {**before, "num_replicas": 2 * before["num_replicas"]}


def test_the_configs_of_the_tutorial_can_be_evaluated(tmp_path):
    page = (CONFIGS.parent / "docs" / "tutorial.md").read_text("utf-8")
    (tmp_path / "training_config").symlink_to(CONFIGS)
    beginning, *blocks = re.findall(r"```jsonnet\n(.*?)```", page, re.DOTALL)
    assert f"\n{beginning}" in MAIN.read_text("utf-8")
    names = ("mine", "ner-elmo_semfit", "ner-fasttext")
    variables = {f"NER_{part}_DATA_PATH": "data" for part in ("TRAIN", "VALIDATION", "TEST")}
    for name, block in zip(names, blocks, strict=True):
        (tmp_path / f"{name}.jsonnet").write_text(block, "utf-8")
        assert evaluate(tmp_path / f"{name}.jsonnet", LM_ARCHIVE_PATH="x", **variables)
