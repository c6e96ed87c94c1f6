import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.modules.token_embedders import Embedding, TokenEmbedder

from allennlp_semfit.functional import nllvmf_distance, semfit_loss
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.semfit_head import Distance, SemfitHead


def head_of(**config):
    return LmHead.from_params(Params({"input_dim": 5, "embedding_dim": 7, **config}))


def trained_head_of(**config):
    head = head_of(**config)
    for parameter in head.projection.parameters():
        torch.nn.init.normal_(parameter)
    return head


def loss_of(head, context, vectors):
    """The loss for words with these vectors as targets."""
    return head(context, head.prepare_targets({}, vectors))


def test_it_is_the_default_head_and_the_cosine_its_default_distance():
    head = trained_head_of()
    assert isinstance(head, SemfitHead)
    assert (head.input_dim, head.get_target_dim()) == (5, 7)
    context, targets = torch.randn(11, 5), torch.randn(11, 7)
    torch.manual_seed(3)
    same = head_of(type="semfit", distance="cosine")
    same.load_state_dict(head.state_dict())
    assert head(context, targets) == same(context, targets)


def test_a_distance_has_the_parameters_of_its_configuration():
    vmf = Distance.from_params(Params({"type": "nllvmf", "lambda_1": 0.5, "lambda_2": 2.0}))
    predicted, targets = torch.randn(3, 10), torch.randn(3, 10)
    expected = nllvmf_distance(predicted, targets, 0.5, 2.0)
    assert torch.equal(vmf(predicted, targets), expected)
    with pytest.raises(ConfigurationError, match="lambda_2 must be at least 0, got -1"):
        Distance.from_params(Params({"type": "nllvmf", "lambda_2": -1}))


@pytest.mark.parametrize("distance", ["cosine", "l2", "nllvmf"])
def test_the_loss_is_the_sum_of_distances_and_the_metrics_are_cosines(distance):
    head = trained_head_of(distance=distance)
    sizes = (11, 1, 4)
    contexts = [torch.randn(size, 5) for size in sizes]
    targets = [torch.randn(size, 7) + 0.3 for size in sizes]
    for context, target in zip(contexts, targets):
        loss = loss_of(head, context, target)
        inputs = (context / 5**0.5, target, head.projection.weight, head.projection.bias)
        expected = semfit_loss(*inputs, distance, "sum")
        torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-5)

    with torch.no_grad():
        predicted = head.projection(torch.cat(contexts)).double().numpy()
    target = torch.cat(targets).double().numpy()
    predicted /= numpy.linalg.norm(predicted, axis=1, keepdims=True)
    target /= numpy.linalg.norm(target, axis=1, keepdims=True)
    expected = {
        "cosine": (predicted * target).sum(axis=1).mean(),
        "baseline_cosine": numpy.linalg.norm(target.mean(axis=0)),
    }
    assert head.get_metrics(reset=True) == pytest.approx(expected, rel=1e-5)
    assert head.get_metrics() == {"cosine": 0.0, "baseline_cosine": 0.0}


@pytest.mark.parametrize("has_common_vector", [True, False])
def test_target_vectors_that_are_nearly_the_same_are_named_once(has_common_vector, caplog):
    head = head_of()
    vectors = torch.randn(50, 7) + (20 if has_common_vector else 0)
    for _ in range(2):
        loss_of(head, torch.randn(50, 5), vectors)
    messages = [message for message in caplog.messages if "nearly the same" in message]
    assert len(messages) == has_common_vector
    command = "train-fasttext TEXT VECTORS.bin --dim 7 --epoch 200 --force"
    assert all(command in message for message in messages)


def targets_with_much_in_common(num=4000):
    torch.manual_seed(1)
    return torch.randn(num, 7) * torch.linspace(0.5, 2.0, 7) + 2 * torch.ones(7)


@pytest.mark.parametrize("distance", ["cosine", "l2", "nllvmf"])
def test_it_starts_from_the_mean_direction_of_the_targets(distance):
    head = head_of(distance=distance)
    targets = targets_with_much_in_common()
    loss_of(head, torch.randn(len(targets), 5), targets)
    bias = head.projection.bias.detach().clone()
    metrics = head.get_metrics(reset=True)
    if distance == "l2":
        torch.testing.assert_close(bias, targets.mean(0))
    else:
        mean = torch.nn.functional.normalize(targets, dim=-1).mean(0)
        length = {"cosine": 7**0.5 / 3, "nllvmf": 7**0.5}[distance]
        torch.testing.assert_close(bias, length * mean)
        assert metrics["cosine"] == pytest.approx(metrics["baseline_cosine"], rel=1e-5)
    # The prediction does not depend on the context yet.
    assert head.projection(torch.randn(30, 5)).equal(bias.expand(30, 7))
    # The next batch changes nothing.
    head(torch.randn(30, 5), -targets[:30])
    assert torch.equal(head.projection.bias, bias)


@pytest.mark.parametrize("distance", ["cosine", "l2", "nllvmf"])
@pytest.mark.parametrize("dim", [16, 1024])
def test_an_update_changes_the_prediction_by_the_root_of_the_context_dimension(dim, distance):
    head = head_of(distance=distance, input_dim=dim)
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    # The contexts are of two kinds and have the norm that a layer norm yields.
    targets = targets_with_much_in_common(50)
    context = torch.cat([torch.ones(25, dim), -torch.ones(25, dim)])
    loss = head(context, targets)
    loss.backward()
    optimizer.step()
    answers = head.projection(context)
    moved = (answers[0] - answers[-1]).abs() / 2
    torch.testing.assert_close(moved, torch.full((7,), 1e-3 * dim**0.5), rtol=1e-2, atol=0.0)
    assert head(context, targets) < loss


def test_the_bias_is_initialized_by_the_first_targets_in_training():
    head, other = head_of(), head_of()
    torch.nn.init.normal_(head.projection.weight)
    weight = head.projection.weight.clone()
    targets = torch.randn(9, 7)
    head.eval()(torch.randn(9, 5), targets)
    head.train()(torch.zeros(0, 5), torch.zeros(0, 7))
    # Zero vectors have no direction.
    head(torch.randn(9, 5), torch.zeros(9, 7))
    assert not head.projection.bias.any()
    head(torch.randn(10, 5), torch.cat([targets, torch.zeros(1, 7)]))
    other(torch.randn(9, 5), targets)
    assert head.projection.bias.any()
    torch.testing.assert_close(head.projection.bias, other.projection.bias)
    # A bias that an initializer or a checkpoint has set is kept.
    assert torch.equal(head.projection.weight, weight)
    loaded = head_of()
    loaded.load_state_dict(head.state_dict())
    loaded(torch.randn(9, 5), -targets)
    assert torch.equal(loaded.projection.bias, head.projection.bias)


class Doubling(TokenEmbedder):
    """An embedder with parameters and dropout that counts the words it embeds."""

    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(2.0), requires_grad=False)
        self.dropout = torch.nn.Dropout(0.5)
        self.num_words = 0

    def get_output_dim(self):
        return 7

    def forward(self, numbers):
        self.num_words += numbers.numel()
        return self.dropout(numbers.unsqueeze(-1).float() * self.factor + torch.arange(7))


NUMBERS = {"numbers": {"numbers": torch.tensor([[3, 4, 3], [4, 5, 0]])}}


def test_the_targets_are_those_of_a_target_embedder_computed_once_for_a_word():
    embedder = Doubling()
    head = SemfitHead(5, 7, target_embedder=embedder, target_indexer="numbers").train()
    assert head.get_target_dim() is None
    expected = 2.0 * NUMBERS["numbers"]["numbers"].unsqueeze(-1) + torch.arange(7)
    for _ in range(3):
        # In training mode, dropout would change the vectors.
        assert head.target_vectors(NUMBERS, torch.zeros(2, 3, 300)).equal(expected)
    assert embedder.num_words == 4
    assert {name for name, p in head.named_parameters() if p.requires_grad} == {
        "projection.weight",
        "projection.bias",
    }


def test_a_target_embedder_that_does_not_fit():
    def build(embedder, indexer="tokens"):
        return SemfitHead(5, 7, target_embedder=embedder, target_indexer=indexer)

    with pytest.raises(ConfigurationError, match="has dimension 6, .* is 7; set it to 6"):
        build(Embedding(6, 10, trainable=False))
    with pytest.raises(ConfigurationError, match='Embedding with trainable.*"trainable": false'):
        build(Embedding(7, 10))
    with pytest.raises(ConfigurationError, match="give both `target_embedder` and"):
        build(Embedding(7, 10, trainable=False), indexer=None)
    with pytest.raises(ConfigurationError, match="give both `target_embedder` and"):
        build(None)
    with pytest.raises(ConfigurationError, match=r"is 'tokens', but.*\['numbers'\]"):
        build(Embedding(7, 10, trainable=False)).prepare_targets(NUMBERS, torch.zeros(2, 3, 300))
