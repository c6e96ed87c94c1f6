import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.functional import contrastive_loss
from allennlp_semfit.modules.lm_heads import contrastive_head
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from tests.tolerance import assert_as_exact_as

CONTEXT_DIM, DIM, NUM_WORDS = 5, 7, 12
TABLE = torch.randn(NUM_WORDS, DIM, generator=torch.Generator().manual_seed(1)).double() + 1.0
SENTENCES = st.lists(
    st.lists(st.integers(-1, NUM_WORDS - 1), min_size=4, max_size=4), min_size=1, max_size=5
)


def head_of(**config):
    config = {"input_dim": CONTEXT_DIM, "embedding_dim": DIM, **config}
    return LmHead.from_params(Params({"type": "contrastive", **config}))


def targets_of(head, numbers, table=TABLE):
    """The targets of sentences of words, which are rows of `table`. -1 is padding."""
    numbers = torch.as_tensor(numbers)
    padded = torch.cat([table, torch.full_like(table[:1], 9.0)])
    return head.prepare_targets({"tokens": {"tokens": numbers + 1}}, padded[numbers])


def losses_of_words(head, context, numbers, table, **options):
    """The losses of words that are all those of the batch."""
    inputs = (context / CONTEXT_DIM**0.5, table[numbers], *head.projection.parameters())
    return contrastive_loss(*inputs, head.log_scale.exp(), reduction="none", **options)


def assert_same_with_gradients(actual, expected, leaves):
    torch.testing.assert_close(actual, expected)
    gradients = [torch.autograd.grad(loss, leaves) for loss in (actual, expected)]
    for one, other in zip(*gradients):
        torch.testing.assert_close(one, other)


@given(SENTENCES, st.booleans())
def test_loss_and_gradients_are_those_of_the_function(sentences, training):
    torch.manual_seed(1)
    head = head_of().double()
    numbers = torch.tensor([[0, 1, 2, 3], *sentences])
    mask = numbers >= 0
    head.train(training)
    batch_words = targets_of(head, numbers)
    assert len(batch_words.directions) == len(numbers[mask].unique())
    context = torch.randn(int(mask.sum()), CONTEXT_DIM, dtype=torch.float64, requires_grad=True)
    loss = head(context, batch_words[mask.nonzero(as_tuple=True)])
    expected = losses_of_words(head, context, numbers[mask], TABLE)
    assert_same_with_gradients(loss, expected.sum(), [context, *head.parameters()])
    metrics = head.get_metrics(reset=True)
    assert metrics["perplexity"] == pytest.approx(math.exp(expected.mean().item()))
    predicted = head.projection(context)
    cosines = torch.cosine_similarity(predicted, TABLE[numbers[mask]], dim=-1)
    assert metrics["cosine"] == pytest.approx(cosines.mean().item())
    assert metrics["baseline_cosine"] <= 1.0
    assert head.get_metrics() == {"perplexity": 1.0, "cosine": 0.0, "baseline_cosine": 0.0}


def test_max_negatives_count_in_training_only(monkeypatch):
    head = head_of(max_negatives=3).double()
    numbers = torch.tensor([[0, 1, 2, 3, 4, 5, 3, 2]])
    targets = targets_of(head, numbers)[0]
    context = torch.randn(8, CONTEXT_DIM, dtype=torch.float64, requires_grad=True)
    monkeypatch.setattr(torch, "randperm", lambda *_, **__: torch.tensor([5, 2, 0, 1, 3, 4]))
    expected = losses_of_words(head, context, numbers[0], TABLE, max_negatives=3).sum()
    assert_same_with_gradients(head(context, targets), expected, [context, *head.parameters()])
    # The result of an evaluation is deterministic.
    monkeypatch.setattr(contrastive_head, "_CHUNK_SIZE", 3)
    expected = losses_of_words(head, context, numbers[0], TABLE).sum()
    torch.testing.assert_close(head.eval()(context, targets), expected)


@pytest.mark.parametrize("sentences", [[[0, 0, 0]], [[1, 1, -1]], [[1, 0, 2]]])
def test_fewer_than_two_words(sentences):
    head = head_of()
    table = torch.stack([TABLE[0], 0 * TABLE[0], TABLE[0]]).float()
    with pytest.raises(ConfigurationError, match=r"has \d distinct.*`data_loader.batch_size`"):
        targets_of(head, sentences, table)
    # Sentences of one word have nothing to predict.
    targets_of(head, [[0], [0]], table)
    # In evaluation, a single word has no negatives.
    head.eval()
    targets = targets_of(head, sentences, table)[0]
    assert head(torch.randn(3, CONTEXT_DIM), targets).item() == 0.0


def test_no_target_at_all():
    head = head_of()
    targets = targets_of(head, torch.zeros(2, 0, dtype=torch.long), TABLE.float())
    loss = head(torch.zeros(0, CONTEXT_DIM), targets[0])
    loss.backward()
    assert loss.item() == 0.0
    assert not head.projection.weight.grad.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_in_half_precision(dtype):
    """Only the projection, and the vectors that come so, are in half precision."""
    head = head_of()
    context = torch.randn(6, CONTEXT_DIM)
    table = TABLE.to(dtype)
    numbers = torch.arange(6)[None]
    with torch.autocast("cpu", dtype=dtype):
        loss = head(context, targets_of(head, numbers, table)[0])
    assert loss.dtype == torch.float32
    # The formula, with the projection in half precision.
    projection = head.projection
    inputs = (context * CONTEXT_DIM**-0.5, projection.weight, projection.bias)
    predicted = torch.nn.functional.linear(*(tensor.to(dtype) for tensor in inputs)).float()
    cosines = torch.nn.functional.cosine_similarity(
        predicted.unsqueeze(1), table[:6].float().unsqueeze(0), dim=-1
    )
    plain = torch.nn.functional.cross_entropy(10 * cosines, torch.arange(6), reduction="sum")
    exact = head.double()(context.double(), targets_of(head, numbers, table.double())[0])
    assert_as_exact_as(loss, plain, exact)


def test_the_scale_is_bounded_and_can_fall_again():
    head = head_of()
    context, targets = torch.randn(4, CONTEXT_DIM), targets_of(head, [[0, 1, 2, 3]], TABLE.float())
    losses = []
    for scale in (100.0, 1e4):
        head.log_scale.data.fill_(math.log(scale))
        losses.append(head(context, targets[0]))
    torch.testing.assert_close(*losses)
    losses[1].backward()
    assert head.log_scale.grad != 0
    assert head.log_scale.exp().item() == pytest.approx(100.0)


def test_invalid_options():
    with pytest.raises(ConfigurationError, match="head.max_negatives must be at least 1, got 0"):
        head_of(max_negatives=0)
