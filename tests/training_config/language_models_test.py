"""The configs of language models, as they are: trained for an epoch on the fixtures."""

import json
import sys

import _jsonnet
import pytest
import torch
from allennlp.commands import main
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common.params import Params, with_overrides
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.model import remove_weights_related_keys_from_params

from allennlp_semfit.export.model_folder import export_model
from tests import ROOT, TABLE, TRAIN
from tests.modules.lm_heads.vocabularies import vocabulary_of

CONFIGS = ROOT / "training_config"
VARIATIONS = sorted(path.stem for path in (CONFIGS / "language_models").glob("*.jsonnet"))
CONTEXTUALIZERS = [f"elmo_semfit_{name}" for name in ("gated_cnn", "qrnn", "sru", "transformer")]
VALIDATION = "data/sample/validation.txt"
CHARACTER_CNN = "model.text_field_embedder.token_embedders.characters.embedder.options"
# What the fixtures are too small for.
OVERRIDES = {
    "elmo": {"model.head.num_samples": 30},
    "elmo_adaptive": {"model.head.cutoffs": [10, 20]},
    "elmo_semfit_cnn": {
        f"{CHARACTER_CNN}.char_cnn.filters": [[1, 16], [2, 16], [3, 32], [4, 64], [5, 128]],
        f"{CHARACTER_CNN}.char_cnn.n_highway": 1,
        f"{CHARACTER_CNN}.lstm.projection_dim": 100,
        "model.contextualizer.input_dim": 100,
        "model.head.embedding_dim": 100,
    },
    "elmo_semfit_mimick": {
        "model.text_field_embedder.token_embedders.mimick.embedding_dim": 10,
        "model.contextualizer.input_dim": 10,
        "model.head.embedding_dim": 10,
    },
}
PAPER_VARIABLES = {
    name: f"/{name}"
    for name in ("ONE_BILLION_WORD", "FASTTEXT_MODEL_PATH", "SUBWORDS_PATH", "ELMO_WEIGHTS_PATH")
}
# Millions of trainable parameters. Table 2 of the paper has the first three.
PAPER_PARAMETERS = {
    "elmo": (499, 0.02),
    "elmo_adaptive": (196, 0.02),
    "elmo_semfit": (76, 0.02),
    "elmo_semfit_oneb": (76, 0.02),
    "elmo_semfit_cnn": (76.4, 0.01),
    "elmo_subword": (85, 0.01),
}


def path_of(name):
    return CONFIGS / ("" if name == "elmo_semfit" else "language_models") / f"{name}.jsonnet"


def evaluate(path, **variables):
    return json.loads(_jsonnet.evaluate_file(str(path), ext_vars=variables))


def config_of(name):
    variables = {"TABLE_PATH": TABLE, "ELMO_WEIGHTS_PATH": "output/character_cnn/weights.hdf5"}
    return with_overrides(evaluate(path_of(name), **variables), OVERRIDES.get(name, {}))


def train(config, directory):
    config["trainer"].update(num_epochs=1)
    config["data_loader"].pop("batches_per_epoch", None)
    return train_model(Params(config), serialization_dir=directory)


def continued(archive, config):
    """The config of a training on other text that continues that of an archive with `config`."""
    return evaluate(
        CONFIGS / "continue.jsonnet",
        LM_ARCHIVE_PATH=str(archive),
        LM_CONFIG=config,
        LM_TRAIN_DATA_PATH=str(TRAIN / "shard-01.txt"),
        LM_VALIDATION_DATA_PATH=str(TRAIN / "shard-00.txt"),
    )


def assert_archive_scores_the_same(directory, metric, validation):
    metrics = json.loads((directory / "metrics.json").read_text("utf-8"))
    scores = evaluate_from_archive(directory / "model.tar.gz", validation)
    assert scores[metric] == pytest.approx(metrics[f"best_validation_{metric}"], rel=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["elmo_semfit", *VARIATIONS])
def test_it_trains_and_its_archive_scores_the_same(name, workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(workspace)
    config = config_of(name)
    metric = config["trainer"]["validation_metric"].lstrip("+-")
    train(config, tmp_path)
    assert_archive_scores_the_same(tmp_path, metric, VALIDATION)


@pytest.mark.parametrize("name", ["elmo_semfit", "elmo_subword"])
def test_its_training_continues_on_other_text(name, workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(workspace)
    trained = train(config_of(name), tmp_path / "trained").state_dict()

    archive = tmp_path / "trained" / "model.tar.gz"
    config = continued(archive, (tmp_path / "trained" / "config.json").read_text("utf-8"))
    validation = config["validation_data_path"]
    # With this learning rate, only the last digits of the archive's weights change.
    config["trainer"]["optimizer"]["lr"] = 1e-9
    metric = config["trainer"]["validation_metric"].lstrip("+-")
    model = train(config, tmp_path / "continued")
    for parameter, value in model.named_parameters():
        torch.testing.assert_close(value.data, trained[parameter], rtol=0, atol=1e-6)

    archive.unlink()
    assert_archive_scores_the_same(tmp_path / "continued", metric, validation)


def test_the_continued_training_has_the_optimizer_of_any_config():
    config = {"model": {}, "trainer": {"optimizer": "adam"}}
    trainer = continued("model.tar.gz", json.dumps(config))["trainer"]
    assert trainer["optimizer"] == {"type": "adam", "lr": 4e-4}


def test_the_training_of_an_exported_folder_continues(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(workspace)
    train(config_of("elmo_semfit"), tmp_path / "trained")
    folder = tmp_path / "folder"
    export_model(tmp_path / "trained", folder, language="en")
    config = continued(folder, (folder / "config.json").read_text("utf-8"))
    indexers = config["dataset_reader"]["token_indexers"]
    indexers["fasttext"]["model_path"] = str(folder / "vectors.bin")
    trainer = evaluate(path_of("elmo_semfit"))["trainer"]
    for key in ("grad_norm", "checkpointer", "run_confidence_checks"):
        assert config["trainer"][key] == trainer[key]
    assert config["type"] == "resumable"
    assert config["trainer"]["optimizer"]["type"] == trainer["optimizer"]["type"]
    train(config, tmp_path / "continued")
    assert (tmp_path / "continued" / "model.tar.gz").exists()


def test_find_lr_plots_the_loss(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(workspace)
    config = tmp_path / "config.jsonnet"
    others = {"trainer.bf16": True, "distributed": {"cuda_devices": [-1, -1]}}
    config.write_text(json.dumps(with_overrides(evaluate(path_of("elmo_semfit")), others)))
    overrides = json.dumps({"distributed": None})
    options = ["-s", str(tmp_path / "out"), "--num-batches", "11", "-o", overrides]
    monkeypatch.setattr(sys, "argv", ["allennlp", "find-lr", str(config), *options])
    main()
    assert (tmp_path / "out" / "lr-losses.png").exists()


def num_trainable(params, vocab=None):
    # Of a character CNN that the fixtures lack.
    remove_weights_related_keys_from_params(params)
    # A model runs other contextualizers when it is built, which the meta device cannot.
    is_lstm = params["contextualizer"]["type"] == "bidirectional_language_model_lstm"
    with torch.device("meta" if is_lstm else "cpu"):
        model = Model.from_params(params, vocab=vocab or Vocabulary.empty())
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@pytest.mark.parametrize("name", PAPER_PARAMETERS)
def test_it_has_the_papers_number_of_parameters(name):
    config = evaluate(CONFIGS / "one_billion_word" / f"{name}.jsonnet", **PAPER_VARIABLES)
    contextualizer = config["model"]["contextualizer"]
    assert (contextualizer["cell_size"], contextualizer["hidden_dim"]) == (4096, 512)
    # Table 1 of the paper.
    assert contextualizer.get("layer_norm", True) is (name != "elmo")
    vocab = None
    if name in ("elmo", "elmo_adaptive"):
        vocab = vocabulary_of(793_470)  # ELMo's, with `@@UNKNOWN@@`
    elif name == "elmo_subword":
        vocab = vocabulary_of(256 + 1 + 30_000, "subwords")
    expected, tolerance = PAPER_PARAMETERS[name]
    assert num_trainable(Params(config["model"]), vocab) / 1e6 == pytest.approx(
        expected, rel=tolerance
    )


def test_the_papers_models_are_all_there():
    names = {path.stem for path in (CONFIGS / "one_billion_word").glob("*.jsonnet")}
    assert names == set(PAPER_PARAMETERS)


@pytest.mark.parametrize("name", [*CONTEXTUALIZERS, "masked_lm"])
def test_another_contextualizer_has_about_as_many_parameters(name):
    counts = [num_trainable(Params(config_of(each)["model"])) for each in ("elmo_semfit", name)]
    assert counts[1] == pytest.approx(counts[0], rel=0.1)
