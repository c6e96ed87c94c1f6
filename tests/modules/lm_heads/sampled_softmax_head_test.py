import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.sampled_softmax_loss import SampledSoftmaxLoss

from allennlp_semfit.modules.lm_heads.softmax_heads import SampledSoftmaxHead
from tests.modules.lm_heads.vocabularies import vocabulary_of


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
