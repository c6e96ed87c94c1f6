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


def config_of(overrides=None):
    config = Params.from_file(FIXTURES / "language_model.jsonnet").as_dict(quiet=True)["model"]
    return with_overrides(config, {"head.whiten_targets": True, **(overrides or {})})


def build(config):
    return Model.from_params(Params(config), vocab=Vocabulary.empty())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model as a training leaves it, and its archive."""
    directory = tmp_path_factory.mktemp("trained")
    model = build(config_of())
    for tensor in model.state_dict().values():
        tensor.copy_(torch.rand(tensor.shape) * 10)
    config = {"dataset_reader": {"type": "language_modeling"}, "model": config_of()}
    (directory / "config.json").write_text(json.dumps(config))
    torch.save(model.state_dict(), directory / "best.th")
    Vocabulary.empty().save_to_files(str(directory / "vocabulary"))
    return model, archive_model(directory)


def test_it_has_the_weights_and_the_statistics_of_the_archive(trained):
    model, archive = trained
    weights = build(config_of({"pretrained_file": archive})).state_dict()
    expected = model.state_dict()
    assert "_head.target_transform.mean" in expected
    assert list(weights) == list(expected)
    for name, value in weights.items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"contextualizer.cell_size": 7}, r"shape torch.Size\(\[32, 6\]\) from checkpoint"),
        ({"head.whiten_targets": False}, 'Unexpected key.*: "_head.target_transform'),
        ({"contextualizer.num_layers": 3}, 'Missing key.*: "_contextualizer'),
    ],
    ids=["size", "fewer", "more"],
)
def test_an_archive_with_other_parameters_is_refused(overrides, message, trained):
    _, archive = trained
    with pytest.raises(ConfigurationError, match=message) as error:
        build(config_of({**overrides, "pretrained_file": archive}))
    assert f"Language model {archive} has other parameters" in str(error.value)
    assert "Use the `model` of the archive's `config.json`" in str(error.value)
    assert "`model.pretrained_file`" in str(error.value)
