import copy
import math

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.common.testing import ModelTestCase, requires_gpu
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn.util import move_to_device
from torch.nn.functional import cosine_similarity

from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from allennlp_semfit.modules.contextualizers.contextualizer import Contextualizer
from allennlp_semfit.modules.contextualizers.recurrent import BidirectionalLanguageModelQrnn
from tests import FIXTURES, VALIDATION

TRAINABLE = {"type": "embedding", "embedding_dim": 10, "num_embeddings": 3}
WITHOUT_WORDS = {"type": "embedding", "embedding_dim": 10, "trainable": False}
LSTM = {"type": "lstm", "input_size": 10, "hidden_size": 6, "bidirectional": True}


@Seq2SeqEncoder.register("test_shifted")
class Shifted(Contextualizer, Seq2SeqEncoder):
    def __init__(self, forward_shift: int = 0, backward_shift: int = 0) -> None:
        super().__init__(input_dim=10, output_dim=20, num_layers=1, return_all_layers=False)
        self._shifts = forward_shift, backward_shift

    def _run(self, inputs, mask):
        return [inputs, torch.cat([inputs.roll(shift, dims=1) for shift in self._shifts], dim=-1)]


class TestBidirectionalLm(ModelTestCase):
    def setup_method(self):
        super().setup_method()
        self.set_up_model(FIXTURES / "language_model.jsonnet", VALIDATION)
        # An untrained head answers every context with nothing.
        torch.nn.init.normal_(self.model._head.projection.weight)

    def test_it_trains_saves_loads_and_predicts_the_same(self):
        self.ensure_model_can_train_save_and_load(self.param_file)

    def batch(self):
        return self.dataset.as_tensor_dict()

    def test_the_loss_is_the_mean_over_tokens_of_the_distance_to_the_neighbors(self):
        self.model.eval()
        with torch.no_grad():
            outputs = self.model(**self.batch())
            losses = []
            lengths = outputs["mask"].sum(1).tolist()
            for length, vectors, states in zip(
                lengths, outputs["noncontextual_token_embeddings"], outputs["lm_embeddings"]
            ):
                for here in range(length - 1):
                    forward_prediction = self.model._head.projection(states[here, :6])
                    backward_prediction = self.model._head.projection(states[here + 1, 6:])
                    losses.append(
                        (
                            -cosine_similarity(forward_prediction, vectors[here + 1], dim=0),
                            -cosine_similarity(backward_prediction, vectors[here], dim=0),
                        )
                    )
        forward_loss, backward_loss = numpy.mean(losses, axis=0)
        assert outputs["forward_loss"].item() == pytest.approx(forward_loss, rel=1e-5)
        assert outputs["backward_loss"].item() == pytest.approx(backward_loss, rel=1e-5)
        assert outputs["loss"].item() == pytest.approx((forward_loss + backward_loss) / 2, rel=1e-5)
        assert outputs["batch_weight"].item() == sum(lengths) - len(lengths)
        assert self.model.get_metrics()["cosine"] == pytest.approx(
            -outputs["loss"].item(), rel=1e-5
        )

    def test_a_loss_that_is_no_number_ends_the_training(self):
        self.model._head.projection.bias.data.fill_(math.inf)
        with pytest.raises(ConfigurationError, match="loss of a batch is nan.* Lower the learning"):
            self.model.train()(**self.batch())

    def test_the_vector_of_the_first_batch_is_kept(self):
        first = self.batch()["source"]["fasttext"]["vectors"].flatten(0, -2)
        self.model.eval()(**self.batch())
        assert not self.model.boundary_vector.any()
        self.model.train()(**self.batch())
        kept = self.model.boundary_vector.clone()
        assert (first == kept).all(dim=-1).any()
        batch = self.batch()
        batch["source"]["fasttext"]["vectors"] += 1
        # As when the training is resumed or the model is evaluated.
        for mode in (True, False):
            self.model._has_boundary_vector = False
            with pytest.raises(ConfigurationError, match="not those of the model's training"):
                self.model.train(mode)(**batch)
        self.model._has_boundary_vector = False
        # Sentences without start tokens.
        batch["source"]["fasttext"]["indices"][0, 0] = 2
        self.model(**batch)
        assert torch.equal(self.model.boundary_vector, kept)

    @requires_gpu
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_mixed_precision_on_a_gpu_comes_close(self, dtype):
        expected = self.model.eval()(**self.batch())["loss"].item()
        self.model.cuda()
        with torch.autocast("cuda", dtype=dtype):
            loss = self.model(**move_to_device(self.batch(), torch.device(0)))["loss"]
        loss.backward()
        assert loss.dtype == torch.float32
        assert loss.item() == pytest.approx(expected, abs=0.02)
        assert all(parameter.grad.isfinite().all() for parameter in self.model.parameters())

    def test_a_sentence_without_words_and_boundaries_has_no_loss(self):
        indexer_output = {"vectors": torch.randn(1, 1, 10), "word_mask": torch.tensor([[True]])}
        loss = self.model({"fasttext": indexer_output})["loss"]
        loss.backward()
        assert loss.item() == 0.0

    @pytest.mark.parametrize(
        ("overrides", "message"),
        [
            (
                {"head": {"input_dim": 9}},
                r"`hidden_dim`\) has dimension 6, .* `input_dim` is 9; set it to 6",
            ),
            (
                {"head": {"embedding_dim": 9}},
                "dimension 10, but the head's `embedding_dim` is 9; set it to 10",
            ),
            (
                {"contextualizer": {"input_dim": 9}},
                "contextualizer's `input_dim` is 9; set it to 10",
            ),
            (
                {"contextualizer": LSTM},
                "LstmSeq2SeqEncoder, which has no `return_all_layers`",
            ),
            (
                {"contextualizer": {"type": "hugging_face_encoder", "input_dim": 10}},
                "HuggingFaceEncoder, sees the words",
            ),
            (
                {"contextualizer": {"type": "test_shifted", "forward_shift": -1}},
                "Shifted, sees the words",
            ),
            (
                {"contextualizer": {"type": "test_shifted", "backward_shift": 1}},
                "Shifted, sees the words",
            ),
            (
                {"contextualizer": {"type": "test_shifted"}},
                "has dimension 10, but the head's `input_dim` is 6",
            ),
            (
                {"text_field_embedder": {"token_embedders": {"fasttext": TRAINABLE}}},
                "these are trainable",
            ),
            (
                {"text_field_embedder": {"token_embedders": {"tokens": WITHOUT_WORDS}}},
                "no words for `text_field_embedder.token_embedders.tokens`",
            ),
            (
                {"head": {"target_embedder": WITHOUT_WORDS, "target_indexer": "tokens"}},
                "no words for `head.target_embedder",
            ),
        ],
    )
    def test_a_model_that_cannot_work_is_refused(self, overrides, message):
        config = copy.deepcopy(self._config())
        for part, values in copy.deepcopy(overrides).items():
            config[part] = values if "type" in values else {**config[part], **values}
        with pytest.raises(ConfigurationError, match=message):
            Model.from_params(Params(config), vocab=Vocabulary.empty())

    def test_the_contextualizer_may_have_another_precision(self):
        contextualizer = BidirectionalLanguageModelQrnn(input_dim=10, hidden_dim=6, cell_size=8)
        embedder, head = self.model._text_field_embedder, self.model._head
        BidirectionalLm(Vocabulary(), embedder, contextualizer.double(), head)

    def test_a_second_input_is_reported(self, caplog):
        config = self._config()
        embedder = {"type": "embedding", "embedding_dim": 5, "num_embeddings": 3}
        config["text_field_embedder"]["token_embedders"]["more"] = embedder
        config["contextualizer"]["input_dim"] = 15
        config["head"] = {"type": "softmax", "input_dim": 6}
        vocab = Vocabulary(tokens_to_add={"tokens": ["a"]})
        for is_empty in (False, True):
            caplog.clear()
            Model.from_params(Params(copy.deepcopy(config)), vocab=vocab)
            assert ("reads fasttext and more" in caplog.text) != is_empty
            config["text_field_embedder"]["token_embedders"]["more"] = "empty"
            config["contextualizer"]["input_dim"] = 10

    def _config(self):
        return Params.from_file(self.param_file).as_dict()["model"]
