import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.elmo import batch_to_ids
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenEmbedder

from allennlp_semfit.modules.token_embedders.cached_embedder import CachedEmbedder
from allennlp_semfit.modules.token_embedders.elmo_character_cnn_embedder import (
    ElmoCharacterCnnEmbedder,
)
from tests.elmo_weights import write_elmo


class Counting(TokenEmbedder):
    """A frozen embedder that records the words that it is asked for."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(30, 3).requires_grad_(False)
        self.dropout = torch.nn.Dropout(0.5)
        self.words = []

    def get_output_dim(self):
        return 3

    def forward(self, numbers):
        self.words += numbers.flatten().tolist()
        return self.dropout(self.table(numbers))


@pytest.fixture(scope="module")
def cnn(tmp_path_factory):
    options_file, weight_file = write_elmo(tmp_path_factory.mktemp("elmo"))
    return ElmoCharacterCnnEmbedder(json.loads(options_file.read_text()), str(weight_file))


def test_a_word_is_computed_once_within_a_batch_and_among_batches():
    embedder = Counting()
    cached = CachedEmbedder(embedder)
    first = torch.tensor([[3, 4, 3, 0], [4, 5, 0, 0]])
    # With gaps in memory.
    second = torch.tensor([[5, 3, 6], [6, 0, 6]]).T
    for batch in (first, second, first, second):
        assert torch.equal(cached(batch), embedder.table(batch))
    assert embedder.words == [3, 4, 0, 5, 6]


def test_the_cache_is_emptied_when_it_is_full():
    embedder = Counting()
    cached = CachedEmbedder(embedder, 3)
    for number in (4, 5, 4, 6, 7, 7, 4):
        cached(torch.tensor([[number, number]]))
        assert len(cached._cache) <= 3
    # The fourth empties it.
    assert embedder.words == [4, 5, 6, 7, 7, 4]


def test_the_embedder_always_runs_in_evaluation_mode_without_gradients():
    embedder = Counting().train()
    cached = CachedEmbedder(embedder).train()
    assert not embedder.training
    embedder.table.requires_grad_(True)
    assert not cached(torch.tensor([[1, 2]])).requires_grad


def test_threads_share_it(cnn):
    cached = CachedEmbedder(cnn, 40)
    words = [f"{first}{second}" for first in "abcdefgh" for second in "stuvwxyz"]
    batches = [batch_to_ids([words[i : i + 16], words[-i:][:16]]) for i in range(1, 40)]
    with ThreadPoolExecutor(4) as pool:
        for elmo_tokens, vectors in zip(batches, pool.map(cached, batches)):
            torch.testing.assert_close(vectors, cnn(elmo_tokens))


def test_it_computes_in_single_precision_under_autocast(cnn):
    cached = CachedEmbedder(cnn)
    elmo_tokens = batch_to_ids([["one", "two", "one"]])
    expected = cnn(elmo_tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert cnn(elmo_tokens).dtype == torch.bfloat16
        torch.testing.assert_close(cached(elmo_tokens), expected)


def test_vectors_cached_in_inference_mode_can_be_used_in_training():
    cached = CachedEmbedder(Counting())
    with torch.inference_mode():
        cached(torch.tensor([[1, 2]]))
    weight = torch.ones(3, requires_grad=True)
    (cached(torch.tensor([[2, 3]])) * weight).sum().backward()


@pytest.mark.parametrize(
    "change",
    [
        lambda parent: parent.load_state_dict(
            {key: torch.full_like(value, 7.0) for key, value in parent.state_dict().items()}
        ),
        lambda parent: parent.double(),
        lambda parent: parent.inner.embedder.table.weight.fill_(7.0),
    ],
)
def test_the_cache_is_cleared_when_weights_change(change):
    numbers = torch.tensor([[1, 2, 1]])
    cached = CachedEmbedder(Counting())
    cached(numbers)
    parent = torch.nn.ModuleDict({"inner": cached})
    assert set(parent.state_dict()) == {"inner.embedder.table.weight"}
    change(parent)
    assert torch.equal(cached(numbers), cached.embedder.table(numbers))


@pytest.mark.parametrize("name", ["numbers", "tokens", "args"])
def test_a_single_tensor_of_any_name_also_within_list_fields(name):
    embedder = Counting()
    text_field_embedder = BasicTextFieldEmbedder({"words": CachedEmbedder(embedder)})
    numbers = torch.tensor([[[1, 2, 1], [2, 3, 0]]])
    vectors = text_field_embedder({"words": {name: numbers}}, num_wrapping_dims=1)
    assert torch.equal(vectors, embedder.table(numbers))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_no_word_at_all(shape):
    assert CachedEmbedder(Counting())(torch.zeros(shape, dtype=torch.long)).shape == (*shape, 3)


def test_a_trainable_embedder_is_refused():
    with pytest.raises(ConfigurationError, match='Embedding whose `weight`.*"trainable": false'):
        CachedEmbedder(Embedding(4, 5))
