"""Each task is trained for two steps on each representation, at a size for tests."""

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

from tests import FIXTURES, VECTORS
from tests.elmo_weights import write_elmo
from tests.language_models import write_language_model

CONFIGS = FIXTURES.parent / "training_config" / "downstream"
DATA = {
    "coref": "coref.gold_conll",
    "ner": "ner.conll",
    "snli": "snli.jsonl",
    "srl": "srl",
    "sst5": "sst.txt",
}
REPRESENTATIONS = ("elmo", "elmo_semfit", "elmo_semfit_fasttext", "fasttext", "none")

# Those of the fixture's language model and vectors, and of `write_elmo`.
SIZES = {"elmo_semfit_dim": 2 * 6, "fasttext_dim": 10, "elmo_dim": 2 * 5, "num_epochs": 1}
SIZES_OF_TASKS = {
    "coref": {
        "embedding_dim": 4,
        "character_embedding_dim": 2,
        "num_character_filters": 3,
        "hidden_dim": 5,
        "feedforward_dim": 6,
        "feature_dim": 3,
        "projection_dim": 4,
        "max_span_width": 4,
    },
    "ner": {
        "embedding_dim": 4,
        "character_embedding_dim": 2,
        "num_character_filters": 3,
        "hidden_dim": 5,
        "batch_size": 2,
    },
    "snli": {"embedding_dim": 4, "hidden_dim": 5, "batch_size": 3},
    "srl": {
        "embedding_dim": 4,
        "binary_feature_dim": 3,
        "hidden_dim": 5,
        "num_layers": 2,
        "batch_size": 2,
    },
    "sst5": {"embedding_dim": 4, "hidden_dim": 5, "use_subtrees": False, "batch_size": 3},
}


def environment(task, representation, **paths):
    prefix = {"sst5": "SST"}.get(task, task.upper())
    data = str(FIXTURES / "downstream" / DATA[task])
    return {
        "WORD_REPRESENTATION": representation,
        **{f"{prefix}_{part}_DATA_PATH": data for part in ("TRAIN", "DEV", "TEST")},
        **paths,
    }


def config_of(path, variables, sizes):
    overlay = f"(import {json.dumps(str(path))}) + {{ sizes+:: {json.dumps(sizes)} }}"
    return json.loads(_jsonnet.evaluate_snippet("overlay", overlay, ext_vars=variables))


def train(config, directory):
    # On the GPU of a machine that has one, the figures would differ from run to run.
    config["trainer"]["cuda_device"] = -1
    return train_model(Params(config), serialization_dir=directory)


@pytest.fixture(scope="module")
def elmo(tmp_path_factory):
    options, weights = write_elmo(tmp_path_factory.mktemp("elmo"))
    return {"ELMO_OPTIONS_PATH": str(options), "ELMO_WEIGHTS_PATH": str(weights)}


@pytest.fixture
def paths(request, elmo):
    """What a representation needs, and nothing else."""

    def paths_of(representation):
        if representation == "elmo":
            return elmo
        found = {}
        if "elmo_semfit" in representation:
            found["LM_ARCHIVE_PATH"] = request.getfixturevalue("lm_archive")
        if "fasttext" in representation:
            found["FASTTEXT_MODEL_PATH"] = VECTORS
        return found

    return paths_of


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("task", sorted(DATA))
def test_a_task_trains_and_is_tested(task, representation, paths, tmp_path):
    variables = environment(task, representation, **paths(representation))
    config = config_of(CONFIGS / f"{task}.jsonnet", variables, {**SIZES, **SIZES_OF_TASKS[task]})
    metric = config["trainer"]["validation_metric"].lstrip("+")
    model = train(config, tmp_path)

    metrics = json.loads((tmp_path / "metrics.json").read_text("utf-8"))
    assert math.isfinite(metrics["training_loss"])
    assert math.isfinite(metrics["test_loss"])
    assert f"best_validation_{metric}" in metrics
    # That the representation is there, and is not trained.
    pretrained = [
        parameter
        for name, parameter in model.named_parameters()
        if ("elmo" in name or "fasttext" in name)
        and "scalar_mix" not in name
        and "._projection." not in name
    ]
    assert bool(pretrained) == ("elmo" in representation)
    assert not any(parameter.requires_grad for parameter in pretrained)


@pytest.mark.parametrize("task", sorted(DATA))
def test_a_task_trains_on_a_subword_model(task, tmp_path):
    language_model = write_language_model(tmp_path / "language_model", "subwords")
    variables = environment(task, "elmo_semfit", LM_ARCHIVE_PATH=str(language_model))
    config = config_of(CONFIGS / f"{task}.jsonnet", variables, {**SIZES, **SIZES_OF_TASKS[task]})
    train(config, tmp_path / "task")
    metrics = json.loads((tmp_path / "task" / "metrics.json").read_text("utf-8"))
    assert math.isfinite(metrics["training_loss"])
    assert math.isfinite(metrics["test_loss"])


@pytest.mark.parametrize("task", sorted(DATA))
def test_an_unknown_representation_is_refused(task):
    with pytest.raises(RuntimeError) as error:
        config_of(CONFIGS / f"{task}.jsonnet", environment(task, "glove"), {})
    message = (
        'WORD_REPRESENTATION is "glove". It takes one of "elmo", "elmo_semfit", "elmo_semfit_f'
    )
    assert message in str(error.value)


@pytest.mark.parametrize("task", sorted(DATA))
def test_a_laptops_config_is_the_tasks_with_other_sizes(task):
    variables = environment(task, "fasttext", FASTTEXT_MODEL_PATH=VECTORS)
    laptop = config_of(CONFIGS / "laptop" / f"{task}.jsonnet", variables, {})
    assert laptop != config_of(CONFIGS / f"{task}.jsonnet", variables, {})
    sizes = json.loads(
        _jsonnet.evaluate_snippet(
            "sizes",
            f"local sizes(path) = std.objectFieldsAll(path.sizes);"
            f"std.map(sizes, [import '{CONFIGS}/{task}.jsonnet',"
            f" import '{CONFIGS}/laptop/{task}.jsonnet'])",
            ext_vars=variables,
        )
    )
    # None is misspelt.
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("task", sorted(DATA))
def test_a_laptops_config_trains(task, tmp_path):
    path = CONFIGS / "laptop" / f"{task}.jsonnet"
    train(config_of(path, environment(task, "none"), {"num_epochs": 1}), tmp_path)
    assert (tmp_path / "model.tar.gz").exists()
