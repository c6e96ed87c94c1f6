import copy
import json

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import ModelTestCase
from allennlp.data import Vocabulary
from allennlp.models import Model

from allennlp_semfit.static_vectors.table import read_table
from tests import TABLE
from tests.mimick_archive import CONFIG

WORDS, VECTORS = read_table(TABLE)


def predict(model, word):
    """Equations of the paper, one character and one direction at a time, in float64."""
    weights = {name: weight.double() for name, weight in model.state_dict().items()}
    (embedding,) = (weights[name] for name in weights if "token_embedder_characters" in name)
    characters = ["<w>", *word, "</w>"]
    indices = [model.vocab.get_token_index(character, "characters") for character in characters]
    states = []
    for suffix, order in (("", indices), ("_reverse", indices[::-1])):
        w_x, w_h, b_x, b_h = (
            weights[f"_seq2vec_encoder._module.{name}_l0{suffix}"]
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        hidden = cell = torch.zeros(w_h.size(1), dtype=torch.float64)
        for index in order:
            gates = w_x @ embedding[index] + b_x + w_h @ hidden + b_h
            i, f, g, o = gates.chunk(4)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
    w_1, b_1, w_2, b_2 = (
        weights[f"_feedforward._linear_layers.{name}"]
        for name in ("0.weight", "0.bias", "1.weight", "1.bias")
    )
    return w_2 @ torch.tanh(w_1 @ torch.cat(states) + b_1) + b_2


class TestMimick(ModelTestCase):
    def setup_method(self):
        super().setup_method()
        config = {
            **CONFIG,
            "train_data_path": TABLE,
            "validation_data_path": TABLE,
            "data_loader": {"batch_size": 16},
            "trainer": {"num_epochs": 2, "optimizer": "adam"},
        }
        param_file = self.TEST_DIR / "config.json"
        param_file.write_text(json.dumps(config))
        self.set_up_model(param_file, TABLE)
        for parameter in self.model.parameters():
            torch.nn.init.normal_(parameter, std=0.5)

    def test_it_trains_saves_loads_and_predicts_the_same(self):
        self.ensure_model_can_train_save_and_load(self.param_file)

    def test_its_vectors_loss_and_metrics_are_those_of_the_paper(self):
        with torch.no_grad():
            outputs = self.model(**self.dataset.as_tensor_dict())
        expected = torch.stack([predict(self.model, word) for word in WORDS])
        torch.testing.assert_close(outputs["vectors"].double(), expected, rtol=1e-4, atol=1e-6)
        targets = torch.tensor(VECTORS).double()
        loss = (expected - targets).pow(2).sum() / len(WORDS)
        assert outputs["loss"].item() == pytest.approx(loss.item(), rel=1e-5)

        def directions(vectors):
            return vectors / vectors.norm(dim=1, keepdim=True)

        cosine = (directions(expected) * directions(targets)).sum(1).mean()
        baseline = directions(targets).mean(0).norm()
        assert self.model.get_metrics(reset=True) == {
            "cosine": pytest.approx(cosine.item(), abs=1e-5),
            "baseline_cosine": pytest.approx(baseline.item(), rel=1e-5),
        }
        assert self.model.get_metrics()["cosine"] == 0

    def test_vectors_of_another_dimension_are_refused(self):
        batch = self.dataset.as_tensor_dict()
        batch["vector"] = batch["vector"][:, :7]
        with pytest.raises(ConfigurationError, match=r"have dimension 7, .*is 10; set it to 7\."):
            self.model(**batch)


@pytest.mark.parametrize(
    ("section", "key", "message"),
    [
        ("seq2vec_encoder", "input_size", "text_field_embedder's output has dimension 3, .* is 6;"),
        ("feedforward", "input_dim", "encoder's output has dimension 8, .*`input_dim` is 6; set"),
    ],
)
def test_dimensions_must_match(section, key, message):
    config = copy.deepcopy(CONFIG["model"])
    config[section][key] = 6
    with pytest.raises(ConfigurationError, match=message):
        Model.from_params(Params(config), vocab=Vocabulary())
