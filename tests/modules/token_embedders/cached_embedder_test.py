import copy
import io
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing import ModelTestCase
from allennlp.modules.elmo import batch_to_ids
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenEmbedder
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.modules.token_embedders.cached_embedder import CachedEmbedder
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from allennlp_semfit.modules.token_embedders.fasttext_embedder import FastTextEmbedder
from tests.elmo_weights import write_elmo


class Counting(TokenEmbedder):
    """A frozen embedder that counts its calls and the words that it is asked for."""

    def __init__(self, dim=3, num_embeddings=30):
        super().__init__()
        self.table = torch.nn.Embedding(num_embeddings, dim).requires_grad_(False)
        self.dropout = torch.nn.Dropout(0.5)
        self.num_calls = 0
        self.words = []

    def get_output_dim(self):
        return self.table.embedding_dim

    def forward(self, numbers):
        self.num_calls += 1
        self.words += numbers.flatten().tolist()
        return self.dropout(self.table(numbers))


class OfTwoTensors(TokenEmbedder):
    """Counts by a pair; the second tensor may have any number of parts for a word."""

    def __init__(self):
        super().__init__()
        self.num_words = 0

    def get_output_dim(self):
        return 2

    def forward(self, parts, weights):
        self.num_words += parts.shape[:2].numel()
        sums = parts.sum(-1) + torch.arange(1, parts.size(-1) + 1).mul(parts).sum(-1)
        return torch.stack([sums, weights.mul(weights).sum(-1)], dim=-1)


@pytest.fixture(scope="module")
def elmo_files(tmp_path_factory):
    return [str(file) for file in write_elmo(tmp_path_factory.mktemp("elmo"))]


@pytest.fixture(scope="module")
def cnn(elmo_files):
    return ElmoCharacterCnnEmbedder(options_file=elmo_files[0], pretrained_file=elmo_files[1])


def test_a_word_is_computed_once_within_a_batch_and_among_batches():
    embedder = Counting()
    remembering = CachedEmbedder(embedder)
    first = torch.tensor([[3, 4, 3, 0], [4, 5, 0, 0]])
    second = torch.tensor([[5, 6], [3, 0], [6, 6]])
    for batch in (first, second, first, second):
        assert torch.equal(remembering(batch), embedder.table(batch))
    assert sorted(embedder.words) == [0, 3, 4, 5, 6]
    # All that are not known, at once; and where all are known, none.
    assert embedder.num_calls == 2


@given(
    batches=st.lists(
        st.lists(
            st.lists(st.text("abø", max_size=3), min_size=1, max_size=7), min_size=1, max_size=4
        ),
        min_size=1,
        max_size=5,
    ),
    max_words=st.integers(1, 12),
)
def test_it_gives_what_the_embedder_gives(cnn, batches, max_words):
    remembering = CachedEmbedder(cnn, max_words)
    for batch in batches:
        elmo_tokens = batch_to_ids(batch)
        vectors = remembering(elmo_tokens)
        torch.testing.assert_close(vectors, cnn(elmo_tokens))
        assert not vectors[~elmo_tokens.any(-1)].any()


@given(
    batches=st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=12), max_size=12),
    max_words=st.integers(1, 10),
)
def test_what_is_forgotten_came_first_and_no_more_than_must_be(batches, max_words):
    embedder = Counting()
    remembering = CachedEmbedder(embedder, max_words)
    remembered = []
    for batch in batches:
        del embedder.words[:]
        numbers = torch.tensor([batch])
        assert torch.equal(remembering(numbers), embedder.table(numbers))
        expected = [number for number in dict.fromkeys(batch) if number not in remembered]
        assert embedder.words == expected
        remembered = (remembered + expected[:max_words])[-max_words:]
        size = len(remembering._cache._table)
        assert len(remembered) <= size <= min(max_words, 2 * len(remembered))
        assert len(remembering._cache._slots) == len(remembered)


def test_in_evaluation_mode_without_a_gradient_whatever_is_asked():
    embedder = Counting().train()
    remembering = CachedEmbedder(embedder)
    assert not embedder.training
    remembering.train()
    assert remembering.training
    assert not embedder.training
    embedder.table.requires_grad_(True)
    assert not remembering(torch.tensor([[1, 2]])).requires_grad


def test_threads_share_it(cnn):
    remembering = CachedEmbedder(cnn)
    words = [f"{first}{second}" for first in "abcdefgh" for second in "stuvwxyz"]
    batches = [batch_to_ids([words[i : i + 16], words[-i:][:16]]) for i in range(1, 40)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(remembering, batches))
    for elmo_tokens, vectors in zip(batches, together):
        torch.testing.assert_close(vectors, cnn(elmo_tokens))
        torch.testing.assert_close(remembering(elmo_tokens), cnn(elmo_tokens))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_single_precision_whatever_autocast_says(dtype, cnn):
    remembering = CachedEmbedder(cnn)
    elmo_tokens = batch_to_ids([["one", "two", "one"]])
    expected = cnn(elmo_tokens)
    with torch.autocast("cpu", dtype=dtype):
        assert cnn(elmo_tokens).dtype == dtype
        for _ in range(2):
            torch.testing.assert_close(remembering(elmo_tokens), expected)


def test_what_was_computed_in_inference_mode_can_be_used_outside_and_added_to():
    embedder = Counting()
    remembering = CachedEmbedder(embedder)
    with torch.inference_mode():
        remembering(torch.tensor([[1, 2]]))
    numbers = torch.tensor([[2, 3]])
    weight = torch.ones(3, requires_grad=True)
    (remembering(numbers) * weight).sum().backward()
    assert torch.equal(weight.grad, embedder.table(numbers).sum((0, 1)))
    with torch.inference_mode():
        remembering(torch.tensor([[1, 4]]))
    assert embedder.words == [1, 2, 3, 4]


class TestForgetting:
    NUMBERS = torch.tensor([[1, 2, 1]])

    @pytest.fixture
    def remembering(self):
        remembering = CachedEmbedder(Counting())
        remembering(self.NUMBERS)
        return remembering

    def is_forgotten(self, remembering):
        num_calls = remembering.embedder.num_calls
        vectors = remembering(self.NUMBERS)
        torch.testing.assert_close(vectors, remembering.embedder.table(self.NUMBERS))
        return remembering.embedder.num_calls > num_calls

    def test_it_remembers(self, remembering):
        assert not self.is_forgotten(remembering)

    def test_on_demand(self, remembering):
        remembering.embedder.table.weight.data.fill_(7.0)
        remembering.clear_cache()
        assert self.is_forgotten(remembering)

    @pytest.mark.parametrize("depth", [0, 1])
    def test_where_weights_are_loaded(self, remembering, depth):
        state = {
            key: torch.full_like(value, 7.0) for key, value in remembering.state_dict().items()
        }
        assert set(state) == {"embedder.table.weight"}
        if depth:
            parent = torch.nn.ModuleDict({"inner": remembering})
            parent.load_state_dict({f"inner.{key}": value for key, value in state.items()})
        else:
            remembering.load_state_dict(state)
        assert self.is_forgotten(remembering)

    def test_where_the_type_changes(self, remembering):
        torch.nn.ModuleDict({"inner": remembering}).double()
        assert self.is_forgotten(remembering)
        assert remembering(self.NUMBERS).dtype == torch.float64

    def test_where_the_inputs_are_on_another_device(self, remembering):
        # As if the batches before had been there.
        remembering._cache._table = remembering._cache._table.to("meta")
        assert self.is_forgotten(remembering)

    def test_copies_start_with_nothing(self, remembering):
        big = CachedEmbedder(Counting(), 50_000)
        big(self.NUMBERS)
        pickled = pickle.dumps(big)
        assert len(pickled) < 50_000
        stream = io.BytesIO()
        torch.save(big, stream)
        assert len(stream.getvalue()) < 50_000
        for copied in (pickle.loads(pickled), copy.deepcopy(remembering)):
            assert self.is_forgotten(copied)
            assert not self.is_forgotten(copied)
        assert not self.is_forgotten(remembering)
        assert pickle.loads(pickled)._cache.max_words == 50_000


def test_nothing_of_the_memory_is_among_parameters_and_buffers():
    remembering = CachedEmbedder(Counting())
    before = [name for name, _ in [*remembering.named_parameters(), *remembering.named_buffers()]]
    remembering(torch.tensor([[1, 2]]))
    after = [name for name, _ in [*remembering.named_parameters(), *remembering.named_buffers()]]
    assert before == after == ["embedder.table.weight"]
    assert set(remembering.state_dict()) == {"embedder.table.weight"}


class TestInputs:
    NUMBERS = torch.tensor([[1, 2, 1], [2, 3, 0]])

    @pytest.mark.parametrize("name", ["numbers", "tokens", "elmo_tokens", "args"])
    def test_a_single_tensor_of_any_name(self, name):
        embedder = Counting()
        text_field_embedder = BasicTextFieldEmbedder({"words": CachedEmbedder(embedder)})
        vectors = text_field_embedder({"words": {name: self.NUMBERS}})
        assert torch.equal(vectors, embedder.table(self.NUMBERS))

    def test_within_list_fields(self):
        embedder = Counting()
        text_field_embedder = BasicTextFieldEmbedder({"words": CachedEmbedder(embedder)})
        numbers = torch.stack([self.NUMBERS, self.NUMBERS + 1])
        vectors = text_field_embedder({"words": {"tokens": numbers}}, num_wrapping_dims=1)
        assert torch.equal(vectors, embedder.table(numbers))

    def test_an_allennlp_embedding_and_an_embedder_of_characters(self, cnn):
        embedding = Embedding(4, 5, trainable=False)
        assert torch.equal(CachedEmbedder(embedding)(self.NUMBERS), embedding(self.NUMBERS))
        elmo_tokens = batch_to_ids([["one", "two"]])
        for vectors in (
            CachedEmbedder(cnn)(elmo_tokens),
            CachedEmbedder(cnn)(elmo_tokens=elmo_tokens),
        ):
            torch.testing.assert_close(vectors, cnn(elmo_tokens))

    def test_words_are_told_apart_by_all_tensors(self):
        embedder = OfTwoTensors()
        remembering = CachedEmbedder(embedder)
        parts = torch.tensor([[[1, 2], [1, 2], [1, 2], [2, 1]]])
        weights = torch.tensor([[0.5, 0.25, 0.5, 0.5]]).unsqueeze(-1)
        expected = embedder(parts, weights)
        embedder.num_words = 0
        for vectors in (
            remembering(parts=parts, weights=weights),
            remembering(weights=weights, parts=parts),
            remembering(parts, weights),
            remembering(parts, weights=weights),
        ):
            assert torch.equal(vectors, expected)
        assert embedder.num_words == 3

    def test_words_of_another_form_are_other_words(self):
        embedder = OfTwoTensors()
        remembering = CachedEmbedder(embedder)
        for split in (1, 2, 1, 2):
            parts = torch.arange(1, 4)[:split].view(1, 1, -1)
            weights = torch.arange(1, 4)[split:].view(1, 1, -1)
            assert torch.equal(remembering(parts, weights), embedder(parts, weights))
        assert embedder.num_words == 4 + 2

    def test_masks_vectors_and_tensors_with_gaps_in_memory(self):
        vectors = torch.randn(2, 5, 3).transpose(0, 1)
        word_mask = torch.tensor([[True, False]] * 5)
        remembering = CachedEmbedder(FastTextEmbedder(3))
        tensors = {"vectors": vectors, "word_mask": word_mask}
        for _ in range(2):
            assert torch.equal(remembering(**tensors), vectors)

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
    def test_no_word_at_all(self, shape):
        embedder = Counting()
        vectors = CachedEmbedder(embedder)(torch.zeros(shape, dtype=torch.long))
        assert vectors.shape == (*shape, 3)
        assert vectors.dtype == torch.float
        assert embedder.num_calls == 0

    def test_tensors_that_are_not_of_words_are_refused(self):
        remembering = CachedEmbedder(OfTwoTensors())
        with pytest.raises(ConfigurationError, match=r"`weights` has the shape \(2, 4, 1\)"):
            remembering(parts=torch.ones(2, 3, 1), weights=torch.ones(2, 4, 1))
        with pytest.raises(ConfigurationError, match=r"has the shape \(2,\)"):
            remembering(torch.ones(2), torch.ones(2, 3))
        with pytest.raises(ConfigurationError, match="there is no input tensor"):
            remembering()


def test_what_is_not_frozen_is_refused():
    with pytest.raises(ConfigurationError, match='Embedding whose `weight`.*"trainable": false'):
        CachedEmbedder(Embedding(4, 5))
    with pytest.raises(ConfigurationError, match="`max_words` is 0; it must be at least 1"):
        CachedEmbedder(Counting(), 0)


class TestInAModel(ModelTestCase):
    def test_it_trains_saves_loads_and_predicts_the_same(self, elmo_files, tmp_path):
        (tmp_path / "tagged.tsv").write_text("The###D gate###N closed###V\nSnow###N fell###V\n" * 3)
        options_file, weight_file = elmo_files
        config = {
            "dataset_reader": {
                "type": "sequence_tagging",
                "token_indexers": {"words": {"type": "elmo_characters"}},
            },
            "train_data_path": str(tmp_path / "tagged.tsv"),
            "validation_data_path": str(tmp_path / "tagged.tsv"),
            "model": {
                "type": "simple_tagger",
                "text_field_embedder": {
                    "token_embedders": {
                        "words": {
                            "type": "cached",
                            "max_words": 3,
                            "embedder": {
                                "type": "elmo_character_cnn",
                                "options_file": options_file,
                                "pretrained_file": weight_file,
                            },
                        }
                    }
                },
                "encoder": {"type": "lstm", "input_size": 5, "hidden_size": 3},
            },
            "data_loader": {"batch_size": 4},
            "trainer": {"num_epochs": 1, "optimizer": "adam"},
        }
        config_file = tmp_path / "config.json"
        config_file.write_text(json.dumps(config))
        self.ensure_model_can_train_save_and_load(config_file)


def test_it_is_built_from_a_configuration(elmo_files):
    options_file, weight_file = elmo_files
    inner = {
        "type": "elmo_character_cnn",
        "options_file": options_file,
        "pretrained_file": weight_file + ".gone",
    }
    params = Params({"type": "cached", "embedder": inner}, history="model.")
    with pytest.raises(ConfigurationError, match="`model.embedder.pretrained_file`"):
        TokenEmbedder.from_params(params)
