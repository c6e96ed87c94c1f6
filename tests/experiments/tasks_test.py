"""The tasks of the experiments, with each word representation: trained for an epoch."""

import pytest

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
    return {
        "LM_ARCHIVE_PATH": str(language_model),
        "FASTTEXT_MODEL_PATH": str(vectors),
    }


@pytest.mark.parametrize(
    ("task", "representation"),
    [
        ("ner", "elmo_semfit"),
        ("srl", "elmo_semfit_fasttext"),
        ("snli", "fasttext"),
    ],
)
def test_a_task_trains(task, representation, ours, tmp_path):
    pretrained = pretrained_of(train(task_of(task, representation, **ours), tmp_path))
    assert bool(pretrained) == ("elmo_semfit" in representation)
    assert not any(pretrained)
