import json

import numpy
import pytest
import torch
from allennlp.commands.train import train_model_from_file
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params, with_overrides
from allennlp.common.testing import ModelTestCase
from allennlp.data import Vocabulary
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor
from torch.nn.functional import cosine_similarity

from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from tests import FIXTURES, VALIDATION

SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 6,
    "max_position_embeddings": 64,
}
ENCODER = {"type": "hugging_face_encoder", "input_dim": 10, "config": SIZES}
MASKED = {
    "type": "masked_lm",
    "contextualizer": ENCODER,
    "head": {"type": "semfit", "input_dim": 8, "embedding_dim": 10},
}


@pytest.fixture(scope="module")
def param_file(tmp_path_factory):
    config = Params.from_file(FIXTURES / "language_model.jsonnet").as_dict()
    config["model"].update(MASKED)
    file = tmp_path_factory.mktemp("masked_lm") / "config.json"
    file.write_text(json.dumps(config))
    return file


class TestMaskedLm(ModelTestCase):
    @pytest.fixture(autouse=True)
    def _set_up(self, param_file):
        self.set_up_model(param_file, VALIDATION)
        torch.nn.init.normal_(self.model._head.projection.weight)
        torch.nn.init.normal_(self.model.mask_vector)

    def test_it_trains_saves_loads_and_predicts_the_same(self):
        overrides = {"model.head.type": "contrastive"}
        self.ensure_model_can_train_save_and_load(self.param_file, overrides=overrides)

    def batch(self):
        return self.dataset.as_tensor_dict()

    def recorded(self):
        """The inputs and the outputs of the contextualizer, and the outputs of the model."""
        calls = []
        hook = self.model._contextualizer.register_forward_hook(
            lambda _, inputs, output: calls.append((inputs[0], output))
        )
        outputs = self.model(**self.batch())
        hook.remove()
        return calls, outputs

    def test_the_loss_is_that_of_the_masked_words(self):
        self.model.eval()
        ((inputs, states),), outputs = self.recorded()
        vectors, mask = outputs["noncontextual_token_embeddings"], outputs["mask"]
        is_masked = (inputs == self.model.mask_vector).all(-1)
        is_target, _ = self.model._mask_words(vectors, mask)
        assert is_masked.any()
        assert not (is_masked & ~is_target).any()
        predictions = self.model._head.projection(states[is_target])
        losses = -cosine_similarity(predictions, vectors[is_target])
        assert outputs["loss"].item() == pytest.approx(losses.mean().item(), rel=1e-5)
        assert outputs["batch_weight"].item() == is_target.sum().item()
        assert "lm_embeddings" not in outputs

    def test_the_layers_are_those_of_whole_sentences(self):
        self.model.eval()
        self.model._contextualizer.return_all_layers = True
        (_, (inputs, layers)), outputs = self.recorded()
        assert torch.equal(inputs, outputs["noncontextual_token_embeddings"])
        assert all(map(torch.equal, outputs["lm_embeddings"], layers))
        assert len(layers) == self.model.num_layers() == 3

    def test_evaluation_repeats_itself_and_training_does_not(self):
        def losses():
            return {self.model(**self.batch())["loss"].item() for _ in range(3)}

        # Otherwise dropout changes them.
        self.model._contextualizer.eval()
        assert len(losses()) == 3
        self.model.eval()
        assert len(losses()) == 1

    def test_a_sentence_without_words_has_no_loss(self):
        source = {"vectors": torch.zeros(1, 2, 10), "word_mask": torch.zeros(1, 2, dtype=bool)}
        loss = self.model({"fasttext": source})["loss"]
        assert loss.item() == 0

    def test_the_archive_embeds_and_predicts(self):
        directory = self.TEST_DIR / "trained"
        train_model_from_file(self.param_file, directory)
        words = ["The", "captain", "sleeps"]
        layers = SentenceEmbedder(directory / "model.tar.gz").embed_sentence(words)
        assert layers.shape == (3, 3, 8)
        predictor = Predictor.from_archive(load_archive(directory / "model.tar.gz"))
        predicted = predictor.predict(" ".join(words))
        assert predicted["tokens"] == words
        numpy.testing.assert_allclose(predicted["layers"], layers, rtol=1e-4, atol=1e-5)


def build(overrides=None):
    config = Params.from_file(FIXTURES / "language_model.jsonnet").as_dict(quiet=True)["model"]
    config = with_overrides({**config, **MASKED}, overrides or {})
    return Model.from_params(Params(config), vocab=Vocabulary.empty())


def test_how_often_words_are_masked_and_replaced():
    model = build({"masking_probability": 0.3})
    torch.nn.init.normal_(model.mask_vector)
    torch.manual_seed(1)
    embeddings = torch.randn(100, 1000, 10)
    mask = torch.arange(1000) < torch.randint(500, 1000, (100, 1))
    is_target, inputs = model._mask_words(embeddings, mask)
    num_words, num_targets = mask.sum().item(), is_target.sum().item()
    assert not (is_target & ~mask).any()
    is_same = (inputs == embeddings).all(-1)
    assert is_same[~is_target].all()
    is_masked = (inputs == model.mask_vector).all(-1)
    is_replaced = ~is_same & ~is_masked
    for number, total, share in (
        (num_targets, num_words, 0.3),
        (is_masked.sum().item(), num_targets, 0.8),
        (is_replaced.sum().item(), num_targets, 0.1),
    ):
        deviation = (share * (1 - share) / total) ** 0.5
        assert number / total == pytest.approx(share, abs=5 * deviation)
    # By words of the batch, not by boundary tokens nor padding.
    words = {tuple(vector) for row in zip(embeddings, mask) for vector in words_of(*row)}
    assert all(tuple(vector) in words for vector in inputs[is_replaced].tolist())


def words_of(sentence, is_token):
    return sentence[is_token][1:-1].tolist()


@pytest.mark.parametrize("length", [1, 2])
def test_without_words_boundary_tokens_are_not_replaced(length):
    model = build({"masking_probability": 1.0})
    embeddings = torch.ones(300, length, 10)
    is_target, inputs = model._mask_words(embeddings, torch.ones(300, length, dtype=torch.bool))
    assert is_target.all()
    is_masked = (inputs == model.mask_vector).all(-1)
    assert is_masked.any()
    assert (inputs[~is_masked] == 1).all()


def test_one_word_at_least_is_to_be_predicted():
    model = build({"masking_probability": 1e-9})
    mask = torch.tensor([[True, True, False]])
    for _ in range(20):
        is_target, _ = model._mask_words(torch.randn(1, 3, 10), mask)
        assert is_target[:, :2].sum() == 1
        assert not is_target[0, 2]


def test_what_it_refuses():
    with pytest.raises(
        ConfigurationError,
        match="model.masking_probability must be greater than 0 and at most 1, got 0",
    ):
        build({"masking_probability": 0})
    message = "masked_lm: the contextualizer's output has dimension 8, .* `input_dim` is 4"
    with pytest.raises(ConfigurationError, match=message):
        build({"head.input_dim": 4})
