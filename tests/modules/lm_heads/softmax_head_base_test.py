import copy
from functools import partial

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from allennlp_semfit.modules.lm_heads import softmax_heads
from allennlp_semfit.modules.lm_heads.softmax_heads import (
    AdaptiveSoftmaxHead,
    SampledSoftmaxHead,
    SoftmaxHead,
)
from tests.modules.lm_heads.vocabularies import vocabulary_of

INPUT_DIM = 8
NUM_WORDS = 29


HEADS = [
    partial(SoftmaxHead),
    partial(SoftmaxHead, embedding_dim=5),
    partial(AdaptiveSoftmaxHead, cutoffs=[5, 12], div_value=2.0),
    partial(AdaptiveSoftmaxHead, cutoffs=[10]),
    partial(SampledSoftmaxHead, num_samples=7),
    partial(SampledSoftmaxHead, num_samples=7, sparse=True),
]


@pytest.fixture(params=HEADS, ids=lambda head: head.func.__name__)
def head(request):
    return request.param(vocabulary_of(NUM_WORDS), INPUT_DIM)


def scores_of(head, context):
    """The log-likelihood of every class, from the definition. Shape `(N, num_classes)`."""
    head = copy.deepcopy(head).double()
    context = context.double()
    if not isinstance(head, AdaptiveSoftmaxHead):
        weight, bias = head.output_layer()
        projected = head.projection(context) if isinstance(head, SoftmaxHead) else context
        return (projected @ weight.T + bias).softmax(dim=1).log()
    layer = head.softmax
    root = (context @ layer.head.weight.T).softmax(dim=1).log()
    shortlist = layer.cutoffs[0]
    clusters = [
        (context @ down.weight.T @ up.weight.T).softmax(dim=1).log() + root[:, shortlist + n, None]
        for n, (down, up) in enumerate(layer.tail)
    ]
    return torch.cat([root[:, :shortlist], *clusters], dim=1)


@pytest.mark.parametrize("max_logits", [1, 100, 2**25])
def test_the_perplexity_is_that_of_the_definition_whatever_the_batching(
    head, max_logits, monkeypatch
):
    monkeypatch.setattr(softmax_heads, "_MAX_LOGITS", max_logits)
    for parameter in head.parameters():
        parameter.data.normal_()
    classes = NUM_WORDS + 1
    context = torch.randn(200, INPUT_DIM)
    targets = torch.randint(classes, (200,))
    scores = scores_of(head, context)
    torch.testing.assert_close(scores.exp().sum(dim=1), torch.ones(200).double())
    expected = -scores.gather(1, targets[:, None])
    head.eval()
    for sizes in ([200], [1, 199], [50] * 4, [3, 0, 97, 100]):
        with torch.no_grad():
            losses = [
                head(*some).item() for some in zip(context.split(sizes), targets.split(sizes))
            ]
        assert sum(losses) == pytest.approx(expected.sum().item(), rel=1e-5)
        assert head.get_metrics(reset=True) == {
            "perplexity": pytest.approx(expected.mean().exp().item(), rel=1e-4)
        }
    assert head.get_metrics() == {"perplexity": 1.0}


def test_a_batch_without_targets_has_a_differentiable_loss(head):
    loss = head(torch.zeros(0, INPUT_DIM, requires_grad=True), torch.zeros(0, dtype=torch.long))
    loss.backward()
    assert loss.item() == 0
    if isinstance(head, SampledSoftmaxHead) and not head.sparse:
        # `DistributedDataParallel` waits for all gradients.
        assert all(parameter.grad is not None for parameter in head.parameters())


def test_the_targets_are_the_words_without_the_padding(head):
    tokens = torch.tensor([[2, 1, 5], [3, 0, 0]])
    source = {"vectors": {"vectors": torch.zeros(2, 3, 4)}, "tokens": {"tokens": tokens}}
    assert head.prepare_targets(source, torch.zeros(2, 3, 4)).tolist() == [[1, 0, 4], [2, -1, -1]]
    with pytest.raises(ConfigurationError, match=r"indexer 'tokens'.*\['vectors'\].*single_id"):
        head.prepare_targets({"vectors": {"vectors": torch.zeros(2, 3, 4)}}, torch.zeros(2, 3, 4))


def test_it_runs_in_mixed_precision(head):
    context, targets = torch.randn(40, INPUT_DIM), torch.randint(NUM_WORDS, (40,))
    head.eval()
    exact = head(context, targets)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = head(context.bfloat16(), targets)
        head.train()
        head(context.bfloat16().requires_grad_(), targets).backward()
    torch.testing.assert_close(rounded.float(), exact, rtol=0.02, atol=0.1)


def test_it_needs_a_padded_namespace():
    assert SoftmaxHead(vocabulary_of(5), INPUT_DIM).num_classes == 6
    with pytest.raises(ConfigurationError, match="no namespace 'tokens'.*none.*min_count"):
        SoftmaxHead(Vocabulary.empty(), INPUT_DIM)
    with pytest.raises(ConfigurationError, match=r"no namespace 'words'.*\['tokens'\]"):
        SoftmaxHead(vocabulary_of(5), INPUT_DIM, namespace="words")
    tags = Vocabulary()
    tags.add_tokens_to_namespace(["a", "b", "c", "d"], "word_tags")
    with pytest.raises(ConfigurationError, match="'word_tags' has no padding"):
        SoftmaxHead(tags, INPUT_DIM, namespace="word_tags")


@pytest.mark.parametrize("num_contexts", [1, 4, 6])
def test_each_context_needs_a_target(head, num_contexts):
    with pytest.raises((ValueError, RuntimeError)):
        head.losses(torch.randn(num_contexts, INPUT_DIM), torch.arange(5))
