"""The tasks of the experiments, with each word representation: trained for an epoch."""

import pytest
import torch

import experiments.whitened  # noqa: F401 (this registers what configs name)
from allennlp_semfit.fasttext.train import train_fasttext
from tests import ROOT, TRAIN
from tests.language_models import write_language_model
from tests.training_config.tasks_test import config_of, pretrained_of, train

CONFIGS = ROOT / "experiments" / "tasks"


def task_of(task, representation, **variables):
    path = CONFIGS / f"{task}.jsonnet"
    return config_of(path, WORD_REPRESENTATION=representation, **variables)


@pytest.fixture(scope="session")
def ours(tmp_path_factory):
    """A language model, and fastText vectors of the dimension in the configs."""
    directory = tmp_path_factory.mktemp("representations")
    language_model = write_language_model(directory / "fasttext", "fasttext", hidden_dim=128)
    vectors = directory / "vectors.bin"
    train_fasttext([TRAIN], vectors, dim=100, bucket=2000, min_count=1)
    whitening = directory / "whitening.th"
    torch.save(torch.randn(101, 100), whitening)
    return {
        "LM_ARCHIVE_PATH": str(language_model),
        "FASTTEXT_MODEL_PATH": str(vectors),
        "WHITENING_PATH": str(whitening),
    }


@pytest.mark.parametrize(
    ("task", "representation"),
    [
        ("ner", "elmo_semfit"),
        ("srl", "elmo_semfit_fasttext"),
        ("snli", "fasttext"),
        ("ner", "fasttext_whitened"),
    ],
)
def test_a_task_trains(task, representation, ours, tmp_path):
    pretrained = pretrained_of(train(task_of(task, representation, **ours), tmp_path))
    assert bool(pretrained) == ("elmo_semfit" in representation)
    assert not any(pretrained)
