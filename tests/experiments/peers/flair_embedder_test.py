import json

import torch
from allennlp.common.testing import ModelTestCase
from allennlp.data import Token, Vocabulary

from experiments.peers.flair_embedder import FlairEmbedder, FlairIndexer
from tests import FIXTURES
from tests.experiments.peers.embedding import embed
from tests.tagging import tagging_config
from tests.tolerance import assert_same_but_for_rounding

MODEL = FIXTURES / "flair" / "model.pt"
COMPONENT = {"type": "flair", "model_path": str(MODEL)}


def test_vectors_are_those_that_flair_wrote():
    rows = json.loads((MODEL.parent / "vectors.json").read_text("utf-8"))
    sentences = [row["words"] for row in rows]
    for vectors, row in zip(embed("flair", MODEL.parent, sentences), rows):
        expected = torch.tensor(row["vectors"])
        assert_same_but_for_rounding(vectors[: len(expected)], expected)
        # The padding
        assert not vectors[len(expected) :].any()


class TestFlairInAModel(ModelTestCase):
    def test_it_trains_saves_and_loads(self):
        encoder = {"type": "lstm", "input_size": 10, "hidden_size": 3}
        config = tagging_config(self.TEST_DIR, {"flair": COMPONENT}, {"flair": COMPONENT}, encoder)
        file = self.TEST_DIR / "config.json"
        file.write_text(json.dumps(config), "utf-8")
        frozen = {
            f"text_field_embedder.token_embedder_flair.{name}"
            for name, _ in FlairEmbedder(str(MODEL)).named_parameters()
        }
        self.ensure_model_can_train_save_and_load(file, gradients_to_ignore=frozen)


def test_unknown_characters_have_the_id_of_flair():
    indices = FlairIndexer(str(MODEL)).tokens_to_indices([Token("€")], Vocabulary())
    start, unknown, end = indices["forward_ids"]
    assert unknown == 0
    assert 0 not in (start, end)
