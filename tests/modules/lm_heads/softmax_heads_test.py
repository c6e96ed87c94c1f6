import copy
from functools import partial

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.sampled_softmax_loss import SampledSoftmaxLoss
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, EmptyEmbedder

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


def tied(embedding, input_dim=6, **options):
    head = SoftmaxHead(vocabulary_of(10), input_dim, tie_to_input=True, **options)
    head.tie_weights(BasicTextFieldEmbedder({"tokens": embedding}))
    return head


@pytest.mark.parametrize("input_dim", [4, 6])
def test_tied_weights_are_the_vectors_of_the_input(input_dim):
    embedding = Embedding(embedding_dim=4, num_embeddings=12)
    head = tied(embedding, input_dim, embedding_dim=4)
    assert {name for name, _ in head.named_parameters()} == (
        {"bias"} if input_dim == 4 else {"bias", "projection.weight", "projection.bias"}
    )
    assert "weight" not in head.state_dict()
    context, targets = torch.randn(5, input_dim), torch.tensor([0, 10, 3, 3, 7])
    logits = head.projection(context) @ embedding.weight[1:].T
    expected = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    loss = head(context, targets)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    gradient = embedding.weight.grad
    assert gradient[0].eq(0).all()
    assert gradient[1:].ne(0).any(dim=1).all()
    # An update of the input's weights also changes the output's.
    embedding.weight.data.zero_()
    torch.testing.assert_close(
        head(context, targets), torch.tensor(5 * torch.tensor(11.0).log().item())
    )


def test_the_first_scores_have_unit_variance():
    # As those of vectors of any dimension that a layer norm yields.
    head = SoftmaxHead(vocabulary_of(2000), 6, embedding_dim=64)
    context = torch.nn.functional.layer_norm(torch.randn(30, 64), [64])
    scores = context @ head.output_layer()[0].T
    assert scores.var().item() == pytest.approx(1, rel=0.1)


def test_a_copy_of_the_model_has_tied_weights():
    model = torch.nn.Module()
    model.embedding = Embedding(embedding_dim=4, num_embeddings=12)
    model.head = tied(model.embedding, embedding_dim=4)
    other = copy.deepcopy(model)
    assert other.head._tied_embedding[0] is other.embedding is not model.embedding


def test_an_input_that_cannot_be_tied_is_refused():
    with pytest.raises(ConfigurationError, match="12 vectors.*'tokens'.*`embedding_dim`, 6.*12 "):
        tied(Embedding(embedding_dim=4, num_embeddings=12))
    with pytest.raises(ConfigurationError, match="12 vectors.*It has 11 vectors of dimension 4"):
        tied(Embedding(embedding_dim=4, num_embeddings=11), embedding_dim=4)
    with pytest.raises(ConfigurationError, match="'tokens', but that is EmptyEmbedder"):
        tied(EmptyEmbedder())
    with pytest.raises(ConfigurationError, match="without a projection"):
        tied(Embedding(embedding_dim=4, num_embeddings=12, projection_dim=6), embedding_dim=6)
    with pytest.raises(ConfigurationError, match="'tokens', but that is missing"):
        SoftmaxHead(vocabulary_of(10), 6, tie_to_input=True).tie_weights(BasicTextFieldEmbedder({}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoffs": [5, 30]}, r"`cutoffs` is \[5, 30\], .*'tokens' has 30 words"),
        ({"cutoffs": []}, r"`cutoffs` is \[\], "),
        ({"cutoffs": [12, 5], "div_value": 2.0}, r"`cutoffs` is \[12, 5\], .*increasing"),
        ({"cutoffs": [0, 5], "div_value": 2.0}, r"`cutoffs` is \[0, 5\], .*positive"),
    ],
)
def test_wrong_clusters(options, message):
    with pytest.raises(ConfigurationError, match=message):
        AdaptiveSoftmaxHead(vocabulary_of(29), 8, **options)


def test_the_training_loss_is_allennlps():
    head = SampledSoftmaxHead(vocabulary_of(49), 8, num_samples=20)
    loss = SampledSoftmaxLoss(50, 8, 20)
    loss.load_state_dict(head.softmax.state_dict())
    context, targets = torch.randn(30, 8), torch.randint(50, (30,))
    head._stride = 1  # So that the words for the perplexity take no random number from the sample.
    numpy.random.seed(3)
    numpy.random.randint(1)
    expected = loss(context, targets)
    numpy.random.seed(3)
    torch.testing.assert_close(head(context, targets), expected)


def test_the_perplexity_in_training_is_that_of_the_whole_softmax():
    head = SampledSoftmaxHead(vocabulary_of(99), 8, num_samples=40).train()
    head.softmax.softmax_w.data.mul_(3)
    context = torch.randn(20_000, 8)
    # Words as the model expects them: the sampled loss and the likelihood then differ much.
    targets = torch.distributions.Categorical(logits=context @ head.softmax.softmax_w.T).sample()
    assert head._stride == 25
    # In batches of fewer words than the stride, the likely ones first: all count equally often.
    for some_context, some_targets in zip(context.split(20), targets.split(20)):
        order = head.losses(some_context, some_targets).argsort()
        head(some_context[order], some_targets[order])
    in_training = head.get_metrics(reset=True)["perplexity"]
    head.eval()(context, targets)
    whole = head.get_metrics()["perplexity"]
    # 800 words, whose losses have a standard deviation of 1.6.
    assert in_training == pytest.approx(whole, rel=0.25)


@pytest.mark.parametrize("num_samples", [0, 30, 8192])
def test_more_samples_than_words(num_samples):
    with pytest.raises(ConfigurationError, match=f"`num_samples` is {num_samples}.*'tokens', 30"):
        SampledSoftmaxHead(vocabulary_of(29), 8, num_samples=num_samples)


def test_a_sparse_gradient_is_that_of_the_dense_one():
    vocab = vocabulary_of(49)
    dense = SampledSoftmaxHead(vocab, 8, num_samples=20)
    sparse = SampledSoftmaxHead(vocab, 8, num_samples=20, sparse=True)
    sparse.softmax.softmax_w.weight.data.copy_(dense.softmax.softmax_w)
    context, targets = torch.randn(30, 8), torch.randint(50, (30,))
    for head in (dense, sparse):
        numpy.random.seed(3)
        head(context, targets).backward()
    assert sparse.softmax.softmax_w.weight.grad.is_sparse
    torch.testing.assert_close(
        sparse.softmax.softmax_w.weight.grad.to_dense(), dense.softmax.softmax_w.grad
    )
