"""A model that starts from the weights of an archive."""

import json

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import with_overrides
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.archival import archive_model

from tests import FIXTURES
from tests.models.masked_lm_test import MASKED


def config_of(overrides=None, others=None):
    config = Params.from_file(FIXTURES / "language_model.jsonnet").as_dict(quiet=True)["model"]
    config.update(others or {})
    return with_overrides(config, overrides or {})


def build(config):
    return Model.from_params(Params(config, history="model."), vocab=Vocabulary.empty())


def write_trained(directory, config):
    """A model as a training leaves it, and its archive."""
    archived = {"dataset_reader": {"type": "language_modeling"}, "model": config}
    (directory / "config.json").write_text(json.dumps(archived))
    model = build(config)
    for tensor in model.state_dict().values():
        tensor.copy_(torch.rand(tensor.shape) * 10)
    torch.save(model.state_dict(), directory / "best.th")
    Vocabulary.empty().save_to_files(str(directory / "vocabulary"))
    return model, archive_model(directory)


@pytest.mark.parametrize("others", [{}, MASKED], ids=["bidirectional_lm", "masked_lm"])
def test_it_has_the_weights_of_the_archive(others, tmp_path):
    model, archive = write_trained(tmp_path, config_of(others=others))
    weights = build(config_of({"pretrained_file": archive}, others)).state_dict()
    expected = model.state_dict()
    assert ("mask_vector" in expected) == bool(others)
    assert list(weights) == list(expected)
    for name, value in weights.items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"contextualizer.cell_size": 7}, r"shape torch.Size\(\[32, 6\]\) from checkpoint"),
        ({"contextualizer.num_layers": 1}, 'Unexpected key.*: "_contextualizer'),
        ({"contextualizer.num_layers": 3}, 'Missing key.*: "_contextualizer'),
    ],
    ids=["size", "fewer", "more"],
)
def test_an_archive_with_other_parameters_is_refused(overrides, message, tmp_path):
    _, archive = write_trained(tmp_path, config_of())
    with pytest.raises(ConfigurationError, match=message) as error:
        build(config_of({**overrides, "pretrained_file": archive}))
    assert f"Language model {archive} has other parameters" in str(error.value)
    assert "Use the `model` of the archive's `config.json`" in str(error.value)
    assert "`model.pretrained_file`" in str(error.value)
