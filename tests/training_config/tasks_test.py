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
from allennlp.data import DatasetReader

from tests import FIXTURES, ROOT
from tests.language_models import write_language_model

CONFIGS = ROOT / "training_config" / "tasks"
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
    paths = {f"{prefix}_{part}_DATA_PATH": data for part in ("TRAIN", "VALIDATION", "TEST")}
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


def pretrained_of(model):
    """Whether each parameter of the language model is trained."""
    return [
        parameter.requires_grad
        for name, parameter in model.named_parameters()
        if "elmo_semfit" in name and "scalar_mix" not in name
    ]


def test_the_words_of_snli_are_those_of_the_corpus(tmp_path):
    sentence = "The baker 's dog did n't bark at 3.5 o'clock , بچه\u200cها , הַכֶּלֶב , rẹ̀ ."
    pair = {"gold_label": "neutral", "sentence1": sentence, "sentence2": sentence}
    (tmp_path / "data.jsonl").write_text(json.dumps(pair) + "\n")
    language_model = write_language_model(tmp_path / "lm", "fasttext")
    config = config_of(CONFIGS / "snli.jsonnet", LM_ARCHIVE_PATH=str(language_model))
    reader = DatasetReader.from_params(Params(config["dataset_reader"]))
    (instance,) = reader.read(tmp_path / "data.jsonl")
    for name in ("premise_tokens", "hypothesis_tokens"):
        assert instance["metadata"][name] == sentence.split(" ")


@pytest.mark.parametrize("task", sorted(DATA))
def test_a_task_trains_and_is_tested(task, tmp_path):
    kind = "subwords" if task == "ner" else "fasttext"
    # With as many dimensions as that of the main job.
    language_model = write_language_model(tmp_path / "lm", kind, hidden_dim=128)
    config = config_of(CONFIGS / f"{task}.jsonnet", LM_ARCHIVE_PATH=str(language_model))
    pretrained = pretrained_of(train(config, tmp_path / "task"))
    assert pretrained
    assert not any(pretrained)
