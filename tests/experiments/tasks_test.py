"""The tasks of the experiments, with each word representation: trained for an epoch."""

import pytest

import experiments.peers.flair_embedder  # noqa: F401 (registers `flair`)
from allennlp_semfit.fasttext.train import train_fasttext
from tests import FIXTURES
from tests.language_models import write_language_model
from tests.training_config.tasks_test import config_of, train

CONFIGS = FIXTURES.parent / "experiments" / "tasks"


def task_of(task, representation, **variables):
    path = CONFIGS / f"{task}.jsonnet"
    return config_of(path, WORD_REPRESENTATION=representation, **variables)


@pytest.fixture(scope="session")
def ours(tmp_path_factory):
    """A language model, and fastText vectors of the dimension in the configs."""
    directory = tmp_path_factory.mktemp("representations")
    language_model = write_language_model(directory / "fasttext", "fasttext", hidden_dim=128)
    vectors, corpus = directory / "vectors.bin", FIXTURES / "corpus" / "train"
    train_fasttext([corpus], vectors, dim=100, bucket=2000, min_count=1)
    return {"LM_ARCHIVE_PATH": str(language_model), "FASTTEXT_MODEL_PATH": str(vectors)}


def pretrained_of(model):
    names = ("elmo_semfit", "word2vec", "flair", "transformer_model")
    return [
        parameter.requires_grad
        for name, parameter in model.named_parameters()
        if any(each in name for each in names)
        and "scalar_mix" not in name
        and "._projection." not in name
    ]


@pytest.mark.parametrize(
    ("task", "representation"),
    [("coref", "elmo_semfit"), ("srl", "elmo_semfit_fasttext"), ("sst5", "fasttext")],
)
def test_a_task_trains_with_ours(task, representation, ours, tmp_path):
    pretrained = pretrained_of(train(task_of(task, representation, **ours), tmp_path))
    assert bool(pretrained) == ("elmo_semfit" in representation)
    assert not any(pretrained)


@pytest.mark.parametrize(
    ("task", "name"),
    [("ner", "flair"), ("ner", "word2vec"), ("snli", "bert"), ("srl", "electra")],
)
def test_a_task_trains_with_a_peer(task, name, request, tmp_path):
    directory = FIXTURES / "flair" if name == "flair" else request.getfixturevalue("trained")(name)
    config = task_of(task, name, PEER_PATH=str(directory))
    if name == "flair":
        # The fixture is smaller.
        config["model"]["encoder"]["input_size"] += 10 - 2 * 128
    pretrained = pretrained_of(train(config, tmp_path))
    assert pretrained
    assert not any(pretrained)
