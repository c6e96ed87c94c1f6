"""The language models of Li et al. 2019, their Table 1 and ablations: built, counted, trained."""

import json

import _jsonnet
import allennlp_models.lm  # noqa: F401 (registers the transformer)
import pytest
import torch
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common.params import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.model import remove_weights_related_keys_from_params

from allennlp_semfit.static_vectors.svd import train_svd
from allennlp_semfit.subwords.train import train_bpe
from tests import FIXTURES, TABLE, VECTORS
from tests.elmo_weights import write_elmo
from tests.mimick_archive import write_mimick
from tests.modules.lm_heads.softmax_reference import vocabulary_of

CONFIGS = FIXTURES.parent / "training_config"
CONTEXTUALIZERS = [
    "elmo_semfit_gated_cnn",
    "elmo_semfit_qrnn",
    "elmo_semfit_sru",
    "elmo_semfit_torch_lstm",
    "elmo_semfit_transformer",
]
MODELS = [
    *CONTEXTUALIZERS,
    "elmo",
    "elmo_adaptive",
    "elmo_semfit",
    "elmo_semfit_cnn",
    "elmo_semfit_contrastive",
    "elmo_semfit_l2",
    "elmo_semfit_mimick",
    "elmo_semfit_nllvmf",
    "elmo_semfit_oneb",
    "elmo_semfit_pca",
    "elmo_semfit_random",
    "elmo_semfit_svd",
    "elmo_semfit_svd_input",
    "elmo_semfit_whitened",
    "elmo_subword",
    "masked_lm",
]
CORPUS = FIXTURES / "corpus" / "train"

# Those of the fixtures' vectors, and of `write_elmo`.
SIZES = {
    "embedding_dim": 10,
    "pca_dim": 10,
    "hidden_dim": 8,
    "cell_size": 16,
    "num_epochs": 1,
    "num_updates": 2,
    "warmup_steps": 1,
    "cutoffs": [10, 60],
    "character_embedding_dim": 4,
    "filters": [[1, 3], [2, 4]],
    "num_highway": 1,
    "character_cnn_dim": 5,
    "num_samples": 30,
}
BATCHES = {"batch_sampler": {"type": "bucket", "batch_size": 8, "sorting_keys": ["source"]}}
TWO_STEPS = f"""{{
    sizes+:: {json.dumps(SIZES)},
    train_data_path: std.extVar('LM_TRAIN_DATA_PATH'),
    validation_data_path: std.extVar('LM_DEV_DATA_PATH'),
    data_loader: {json.dumps({**BATCHES, "batches_per_epoch": 2})},
    trainer+: {{ use_amp: false, cuda_device: -1 }},
    distributed:: null,
}}"""

# Millions. Table 2 has those of the first three.
PARAMETERS = {
    "elmo": (499, 0.02),
    "elmo_adaptive": (196, 0.02),
    "elmo_semfit": (76, 0.02),
    "elmo_semfit_contrastive": (76, 0.02),
    "elmo_semfit_l2": (76, 0.02),
    "elmo_semfit_mimick": (76, 0.02),
    "elmo_semfit_nllvmf": (76, 0.02),
    "elmo_semfit_oneb": (76, 0.01),
    "elmo_semfit_pca": (76, 0.02),
    "elmo_semfit_random": (76, 0.02),
    "elmo_semfit_svd": (76, 0.02),
    "elmo_semfit_svd_input": (76, 0.02),
    "elmo_semfit_whitened": (76, 0.02),
    "elmo_semfit_cnn": (76.4, 0.01),
    "elmo_subword": (85, 0.01),
    **dict.fromkeys((*CONTEXTUALIZERS, "masked_lm"), (76, 0.05)),
}


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    directory = tmp_path_factory.mktemp("inputs")
    vocabulary = directory / "vocabulary"
    train_svd([CORPUS], directory / "svd.txt", dim=10, min_count=2, vocabulary_dir=vocabulary)
    train_bpe([CORPUS], directory / "subwords", merges=100)
    _, weights = write_elmo(directory / "elmo")
    return {
        "ONE_BILLION_WORD": "corpus",
        "LM_TRAIN_DATA_PATH": str(CORPUS),
        "LM_DEV_DATA_PATH": str(FIXTURES / "corpus" / "heldout.txt"),
        "FASTTEXT_MODEL_PATH": VECTORS,
        "OWN_FASTTEXT_MODEL_PATH": VECTORS,
        "SVD_PATH": str(directory / "svd.txt"),
        "VOCABULARY_PATH": str(vocabulary),
        "SUBWORDS_PATH": str(directory / "subwords"),
        "ELMO_WEIGHTS_PATH": str(weights),
        "TABLE_PATH": TABLE,
        "MIMICK_ARCHIVE_PATH": str(write_mimick(directory / "mimick")),
    }


def config_of(path, variables, overlay=None):
    snippet = f"(import {json.dumps(str(path))}) + {overlay or {}}"
    return json.loads(_jsonnet.evaluate_snippet("overlay", snippet, ext_vars=variables))


@pytest.mark.parametrize("name", MODELS)
def test_it_trains_two_steps_and_its_archive_scores_the_same(name, variables, tmp_path):
    path = CONFIGS / "one_billion_word" / f"{name}.jsonnet"
    config = config_of(path, variables, TWO_STEPS)
    metric = config["trainer"]["validation_metric"].lstrip("+-")
    train_model(Params(config), serialization_dir=tmp_path)

    metrics = json.loads((tmp_path / "metrics.json").read_text("utf-8"))
    scores = evaluate_from_archive(tmp_path / "model.tar.gz", variables["LM_DEV_DATA_PATH"])
    assert scores[metric] == pytest.approx(metrics[f"best_validation_{metric}"], rel=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_in_two_steps_a_laptops_config_is_the_same_but_for_these_numbers(name, variables):
    configs = [
        config_of(CONFIGS / size / f"{name}.jsonnet", variables, TWO_STEPS)
        for size in ("one_billion_word", "laptop")
    ]
    for config in configs:
        del config["dataset_reader"]["max_sequence_length"]
        del config["trainer"]["optimizer"]["lr"]
        del config["trainer"]["checkpointer"]["save_every_num_batches"]
        config["trainer"]["checkpointer"].pop("keep_most_recent_by_count", None)
        if name == "elmo_semfit_cnn":
            del config["model"]["text_field_embedder"]["token_embedders"]["characters"]["max_words"]
    assert configs[0] == configs[1]


@pytest.mark.parametrize("name", ["elmo_adaptive", "elmo_semfit", "elmo_subword", "masked_lm"])
def test_its_training_continues_on_other_text(name, variables, tmp_path):
    config = config_of(CONFIGS / "laptop" / f"{name}.jsonnet", variables, TWO_STEPS)
    trained = train_model(Params(config), serialization_dir=tmp_path / "trained").state_dict()

    archive = tmp_path / "trained" / "model.tar.gz"
    other_text = {
        "LM_ARCHIVE_PATH": str(archive),
        "LM_CONFIG": (tmp_path / "trained" / "config.json").read_text("utf-8"),
        "LM_TRAIN_DATA_PATH": str(CORPUS / "shard-01.txt"),
        "LM_DEV_DATA_PATH": str(CORPUS / "shard-00.txt"),
    }
    config = config_of(CONFIGS / "continue.jsonnet", other_text, "{ trainer+: { num_epochs: 2 } }")
    # So small a rate that the weights remain those of the archive, but for the last digits.
    config["trainer"]["optimizer"]["lr"] = 1e-9
    metric = config["trainer"]["validation_metric"].lstrip("+-")
    model = train_model(Params(config), serialization_dir=tmp_path / "continued")
    # So short a text has not fixed the mean of the targets.
    for parameter, value in model.named_parameters():
        torch.testing.assert_close(value.data, trained[parameter], rtol=0, atol=1e-6)

    archive.unlink()
    metrics = json.loads((tmp_path / "continued" / "metrics.json").read_text("utf-8"))
    scores = evaluate_from_archive(
        tmp_path / "continued" / "model.tar.gz", other_text["LM_DEV_DATA_PATH"]
    )
    assert scores[metric] == pytest.approx(metrics[f"best_validation_{metric}"], rel=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_it_has_the_papers_number_of_parameters(name, variables):
    config = config_of(CONFIGS / "one_billion_word" / f"{name}.jsonnet", variables)
    if name in ("elmo", "elmo_adaptive", "elmo_semfit_random"):
        vocab = vocabulary_of(793_470)  # ELMo's, with `@@UNKNOWN@@`
    elif name == "elmo_subword":
        vocab = vocabulary_of(256 + 1 + 30_000, "subwords")
    else:
        vocab = Vocabulary.empty()
    contextualizer = config["model"]["contextualizer"]
    if name not in (*CONTEXTUALIZERS, "masked_lm"):
        assert (contextualizer["cell_size"], contextualizer["hidden_dim"]) == (4096, 512)
    params = Params(config["model"])
    # The fixture's character CNN is smaller.
    remove_weights_related_keys_from_params(params)
    # The adapter runs its encoder.
    is_adapter = contextualizer["type"] == "bidirectional_language_model_adapter"
    with torch.device("cpu" if is_adapter else "meta"):
        model = Model.from_params(params, vocab=vocab)
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    expected, tolerance = PARAMETERS[name]
    assert trainable / 1e6 == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("name", CONTEXTUALIZERS)
@pytest.mark.parametrize("size", ["one_billion_word", "laptop"])
def test_it_differs_from_elmo_s_in_its_contextualizer_only(size, name, variables):
    config = config_of(CONFIGS / size / f"{name}.jsonnet", variables)
    base = config_of(CONFIGS / size / "elmo_semfit.jsonnet", variables)
    assert config["model"].pop("contextualizer") != base["model"].pop("contextualizer")
    assert config == base


@pytest.mark.parametrize("name", sorted({*MODELS} - {*CONTEXTUALIZERS, "elmo_semfit", "masked_lm"}))
def test_it_differs_from_elmo_s_in_its_input_and_its_output_only(name, variables):
    directory = CONFIGS / "one_billion_word"
    config = config_of(directory / f"{name}.jsonnet", variables)
    base = config_of(directory / "elmo_semfit.jsonnet", variables)
    differs = {key for key in {**config, **base} if config.get(key) != base.get(key)}
    assert differs <= {"dataset_reader", "vocabulary", "model", "trainer"}
    for either in (config, base):
        del either["trainer"]["validation_metric"]
        del either["model"]["text_field_embedder"]
        del either["model"]["head"]
        del either["model"]["contextualizer"]["input_dim"]
        for key in ("token_indexers", "tokenizer"):
            either["dataset_reader"].pop(key, None)
    assert config["trainer"] == base["trainer"]
    assert config["model"] == base["model"]
    assert config["dataset_reader"] == base["dataset_reader"]


def test_no_size_of_the_laptops_is_misspelt(variables):
    names = set()
    for name in MODELS:
        path = CONFIGS / "one_billion_word" / f"{name}.jsonnet"
        snippet = f"std.objectFieldsAll((import {json.dumps(str(path))}).sizes)"
        names.update(json.loads(_jsonnet.evaluate_snippet("sizes", snippet, ext_vars=variables)))
    path = CONFIGS / "laptop" / "override.libsonnet"
    snippet = f"std.objectFieldsAll((import {json.dumps(str(path))}).sizes)"
    found = json.loads(_jsonnet.evaluate_snippet("sizes", snippet, ext_vars=variables))
    assert set(found) <= names
