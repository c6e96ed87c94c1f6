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
from tests.tagging import tagging_config


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
    cached = CachedEmbedder(embedder)
    first = torch.tensor([[3, 4, 3, 0], [4, 5, 0, 0]])
    second = torch.tensor([[5, 6], [3, 0], [6, 6]])
    for batch in (first, second, first, second):
        assert torch.equal(cached(batch), embedder.table(batch))
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
def test_it_returns_the_output_of_the_embedder(cnn, batches, max_words):
    cached = CachedEmbedder(cnn, max_words)
    for batch in batches:
        elmo_tokens = batch_to_ids(batch)
        vectors = cached(elmo_tokens)
        torch.testing.assert_close(vectors, cnn(elmo_tokens))
        assert not vectors[~elmo_tokens.any(-1)].any()


@given(
    batches=st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=12), max_size=12),
    max_words=st.integers(1, 10),
)
def test_the_oldest_words_are_evicted_only_if_necessary(batches, max_words):
    embedder = Counting()
    cached = CachedEmbedder(embedder, max_words)
    cached_numbers = []
    for batch in batches:
        del embedder.words[:]
        numbers = torch.tensor([batch])
        assert torch.equal(cached(numbers), embedder.table(numbers))
        expected = [number for number in dict.fromkeys(batch) if number not in cached_numbers]
        assert embedder.words == expected
        cached_numbers = (cached_numbers + expected[:max_words])[-max_words:]
        size = len(cached._cache._table)
        assert len(cached_numbers) <= size <= min(max_words, 2 * len(cached_numbers))
        assert len(cached._cache._slots) == len(cached_numbers)


def test_the_embedder_always_runs_in_evaluation_mode_without_gradients():
    embedder = Counting().train()
    cached = CachedEmbedder(embedder)
    assert not embedder.training
    cached.train()
    assert cached.training
    assert not embedder.training
    embedder.table.requires_grad_(True)
    assert not cached(torch.tensor([[1, 2]])).requires_grad


def test_threads_share_it(cnn):
    cached = CachedEmbedder(cnn)
    words = [f"{first}{second}" for first in "abcdefgh" for second in "stuvwxyz"]
    batches = [batch_to_ids([words[i : i + 16], words[-i:][:16]]) for i in range(1, 40)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(cached, batches))
    for elmo_tokens, vectors in zip(batches, together):
        torch.testing.assert_close(vectors, cnn(elmo_tokens))
        torch.testing.assert_close(cached(elmo_tokens), cnn(elmo_tokens))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_it_computes_in_single_precision_under_autocast(dtype, cnn):
    cached = CachedEmbedder(cnn)
    elmo_tokens = batch_to_ids([["one", "two", "one"]])
    expected = cnn(elmo_tokens)
    with torch.autocast("cpu", dtype=dtype):
        assert cnn(elmo_tokens).dtype == dtype
        for _ in range(2):
            torch.testing.assert_close(cached(elmo_tokens), expected)


def test_vectors_cached_in_inference_mode_can_be_used_in_training():
    embedder = Counting()
    cached = CachedEmbedder(embedder)
    with torch.inference_mode():
        cached(torch.tensor([[1, 2]]))
    numbers = torch.tensor([[2, 3]])
    weight = torch.ones(3, requires_grad=True)
    (cached(numbers) * weight).sum().backward()
    assert torch.equal(weight.grad, embedder.table(numbers).sum((0, 1)))
    with torch.inference_mode():
        cached(torch.tensor([[1, 4]]))
    assert embedder.words == [1, 2, 3, 4]


class TestClearing:
    NUMBERS = torch.tensor([[1, 2, 1]])

    @pytest.fixture
    def cached(self):
        cached = CachedEmbedder(Counting())
        cached(self.NUMBERS)
        return cached

    def is_cleared(self, cached):
        num_calls = cached.embedder.num_calls
        vectors = cached(self.NUMBERS)
        torch.testing.assert_close(vectors, cached.embedder.table(self.NUMBERS))
        return cached.embedder.num_calls > num_calls

    def test_vectors_are_cached(self, cached):
        assert not self.is_cleared(cached)

    def test_on_demand(self, cached):
        cached.embedder.table.weight.data.fill_(7.0)
        cached.clear_cache()
        assert self.is_cleared(cached)

    @pytest.mark.parametrize("depth", [0, 1])
    def test_the_cache_is_cleared_when_weights_are_loaded(self, cached, depth):
        state = {key: torch.full_like(value, 7.0) for key, value in cached.state_dict().items()}
        assert set(state) == {"embedder.table.weight"}
        if depth:
            parent = torch.nn.ModuleDict({"inner": cached})
            parent.load_state_dict({f"inner.{key}": value for key, value in state.items()})
        else:
            cached.load_state_dict(state)
        assert self.is_cleared(cached)

    def test_the_cache_is_cleared_when_the_type_changes(self, cached):
        torch.nn.ModuleDict({"inner": cached}).double()
        assert self.is_cleared(cached)
        assert cached(self.NUMBERS).dtype == torch.float64

    def test_the_cache_is_cleared_for_inputs_on_another_device(self, cached):
        # As if the batches before had been there.
        cached._cache._table = cached._cache._table.to("meta")
        assert self.is_cleared(cached)

    def test_a_copy_has_an_empty_cache(self, cached):
        big = CachedEmbedder(Counting(), 50_000)
        big(self.NUMBERS)
        pickled = pickle.dumps(big)
        assert len(pickled) < 50_000
        stream = io.BytesIO()
        torch.save(big, stream)
        assert len(stream.getvalue()) < 50_000
        for copied in (pickle.loads(pickled), copy.deepcopy(cached)):
            assert self.is_cleared(copied)
            assert not self.is_cleared(copied)
        assert not self.is_cleared(cached)
        assert pickle.loads(pickled)._cache.max_words == 50_000


def test_the_cache_is_not_among_parameters_and_buffers():
    cached = CachedEmbedder(Counting())
    before = [name for name, _ in [*cached.named_parameters(), *cached.named_buffers()]]
    cached(torch.tensor([[1, 2]]))
    after = [name for name, _ in [*cached.named_parameters(), *cached.named_buffers()]]
    assert before == after == ["embedder.table.weight"]
    assert set(cached.state_dict()) == {"embedder.table.weight"}


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

    def test_words_are_identified_by_all_tensors(self):
        embedder = OfTwoTensors()
        cached = CachedEmbedder(embedder)
        parts = torch.tensor([[[1, 2], [1, 2], [1, 2], [2, 1]]])
        weights = torch.tensor([[0.5, 0.25, 0.5, 0.5]]).unsqueeze(-1)
        expected = embedder(parts, weights)
        embedder.num_words = 0
        for vectors in (
            cached(parts=parts, weights=weights),
            cached(weights=weights, parts=parts),
            cached(parts, weights),
            cached(parts, weights=weights),
        ):
            assert torch.equal(vectors, expected)
        assert embedder.num_words == 3

    def test_words_of_another_shape_are_other_words(self):
        embedder = OfTwoTensors()
        cached = CachedEmbedder(embedder)
        for split in (1, 2, 1, 2):
            parts = torch.arange(1, 4)[:split].view(1, 1, -1)
            weights = torch.arange(1, 4)[split:].view(1, 1, -1)
            assert torch.equal(cached(parts, weights), embedder(parts, weights))
        assert embedder.num_words == 4 + 2

    def test_masks_vectors_and_tensors_with_gaps_in_memory(self):
        vectors = torch.randn(2, 5, 3).transpose(0, 1)
        word_mask = torch.tensor([[True, False]] * 5)
        cached = CachedEmbedder(FastTextEmbedder(3))
        tensors = {"vectors": vectors, "word_mask": word_mask}
        for _ in range(2):
            assert torch.equal(cached(**tensors), vectors)

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
    def test_no_word_at_all(self, shape):
        embedder = Counting()
        vectors = CachedEmbedder(embedder)(torch.zeros(shape, dtype=torch.long))
        assert vectors.shape == (*shape, 3)
        assert vectors.dtype == torch.float
        assert embedder.num_calls == 0

    def test_tensors_that_are_not_of_words_are_refused(self):
        cached = CachedEmbedder(OfTwoTensors())
        with pytest.raises(ConfigurationError, match=r"`weights` has the shape \(2, 4, 1\)"):
            cached(parts=torch.ones(2, 3, 1), weights=torch.ones(2, 4, 1))
        with pytest.raises(ConfigurationError, match=r"has the shape \(2,\)"):
            cached(torch.ones(2), torch.ones(2, 3))
        with pytest.raises(ConfigurationError, match="there is no input tensor"):
            cached()


def test_a_trainable_embedder_is_refused():
    with pytest.raises(ConfigurationError, match='Embedding whose `weight`.*"trainable": false'):
        CachedEmbedder(Embedding(4, 5))
    with pytest.raises(ConfigurationError, match="`max_words` is 0; it must be at least 1"):
        CachedEmbedder(Counting(), 0)


class TestInAModel(ModelTestCase):
    def test_it_trains_saves_loads_and_predicts_the_same(self, elmo_files, tmp_path):
        options_file, weight_file = elmo_files
        config = tagging_config(
            tmp_path,
            {"words": {"type": "elmo_characters"}},
            {
                "words": {
                    "type": "cached",
                    "max_words": 3,
                    "embedder": {
                        "type": "elmo_character_cnn",
                        "options_file": options_file,
                        "pretrained_file": weight_file,
                    },
                }
            },
            {"type": "lstm", "input_size": 5, "hidden_size": 3},
        )
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
