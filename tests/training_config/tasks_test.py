"""The configs of the tasks, as they are: trained for an epoch on the fixtures."""

import json
import math

import _jsonnet
import allennlp_models.classification
import allennlp_models.coref
import allennlp_models.pair_classification
import allennlp_models.structured_prediction
import allennlp_models.tagging  # noqa: F401 (these register what configs name)
import pytest
from allennlp.commands.train import train_model
from allennlp.common.params import Params

from tests import FIXTURES
from tests.language_models import write_language_model

CONFIGS = FIXTURES.parent / "training_config" / "tasks"
DATA = {
    "coref": "coref.gold_conll",
    "ner": "ner.conll",
    "snli": "snli.jsonl",
    "srl": "srl",
    "sst5": "sst.txt",
}


def config_of(path, **variables):
    """The config of a task, with the paths of the fixtures and other variables."""
    prefix = {"sst5": "SST"}.get(path.stem, path.stem.upper())
    data = str(FIXTURES / "downstream" / DATA[path.stem])
    paths = {f"{prefix}_{part}_DATA_PATH": data for part in ("TRAIN", "DEV", "TEST")}
    return json.loads(_jsonnet.evaluate_file(str(path), ext_vars={**paths, **variables}))


def train(config, directory):
    # On the GPU of a machine that has one, the figures would differ from run to run.
    config["trainer"].update(cuda_device=-1, num_epochs=1)
    metric = config["trainer"]["validation_metric"].lstrip("+")
    model = train_model(Params(config), serialization_dir=directory)
    metrics = json.loads((directory / "metrics.json").read_text("utf-8"))
    assert math.isfinite(metrics["training_loss"])
    assert math.isfinite(metrics["test_loss"])
    assert f"best_validation_{metric}" in metrics
    return model


@pytest.fixture(scope="session", params=["fasttext", "subwords"])
def language_model(request, tmp_path_factory):
    """A language model with as many dimensions as that of the main job."""
    directory = tmp_path_factory.mktemp("language_models") / request.param
    return str(write_language_model(directory, request.param, hidden_dim=128))


@pytest.mark.parametrize("task", sorted(DATA))
def test_a_task_trains_and_is_tested(task, language_model, tmp_path):
    config = config_of(CONFIGS / f"{task}.jsonnet", LM_ARCHIVE_PATH=language_model)
    model = train(config, tmp_path)
    pretrained = [
        parameter.requires_grad
        for name, parameter in model.named_parameters()
        if "elmo_semfit" in name and "scalar_mix" not in name
    ]
    assert pretrained
    assert not any(pretrained)


@pytest.mark.parametrize("task", sorted(DATA))
def test_a_variable_that_is_not_set_is_named(task):
    with pytest.raises(RuntimeError, match="undefined external variable: LM_ARCHIVE_PATH"):
        config_of(CONFIGS / f"{task}.jsonnet")
