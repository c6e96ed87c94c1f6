import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.semfit_head import SemfitHead


def head_of(**config):
    return LmHead.from_params(Params({"input_dim": 5, "embedding_dim": 7, **config}))


def test_it_is_the_default_head_and_the_cosine_its_default_distance():
    head = head_of()
    assert isinstance(head, SemfitHead)
    assert (head.get_input_dim(), head.get_target_dim()) == (5, 7)
    context, targets = torch.randn(11, 5), torch.randn(11, 7)
    torch.manual_seed(3)
    same = head_of(type="semfit", distance="cosine")
    same.load_state_dict(head.state_dict())
    assert head(context, targets) == same(context, targets)


@pytest.mark.parametrize("distance", ["cosine", "l2", "nllvmf"])
def test_the_loss_is_the_sum_of_distances_and_the_metrics_are_cosines(distance):
    head = head_of(distance=distance)
    sizes = (11, 1, 4)
    contexts = [torch.randn(size, 5) for size in sizes]
    targets = [torch.randn(size, 7) + 0.3 for size in sizes]
    for context, target in zip(contexts, targets):
        loss = head(context, target)
        predicted = context @ head.projection.weight.T + head.projection.bias
        torch.testing.assert_close(loss, head.distance(predicted, target).sum())

    with torch.no_grad():
        predicted = head.projection(torch.cat(contexts)).double().numpy()
    target = torch.cat(targets).double().numpy()
    predicted /= numpy.linalg.norm(predicted, axis=1, keepdims=True)
    target /= numpy.linalg.norm(target, axis=1, keepdims=True)
    expected = {
        "cosine": (predicted * target).sum(axis=1).mean(),
        "constant_cosine": numpy.linalg.norm(target.mean(axis=0)),
    }
    assert head.get_metrics(reset=True) == pytest.approx(expected)
    assert head.get_metrics() == {"cosine": 0.0, "constant_cosine": 0.0}


def test_nothing_but_the_projection_is_trained_and_targets_take_no_gradient():
    head = head_of()
    assert {name for name, _ in head.named_parameters()} == {"projection.weight", "projection.bias"}
    vectors = torch.randn(2, 3, 7, requires_grad=True)
    assert not head.targets({}, vectors).requires_grad


def test_no_pair_at_all_is_a_loss_of_zero():
    head = head_of(distance="nllvmf")
    loss = head(torch.zeros(0, 5), torch.zeros(0, 7))
    loss.backward()
    assert loss.item() == 0.0
    assert not head.projection.weight.grad.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_under_autocast_the_loss_is_float32(dtype):
    head = head_of(distance="l2")
    with torch.autocast("cpu", dtype=dtype):
        assert head(torch.randn(4, 5), 300 * torch.randn(4, 7)).dtype == torch.float32


def test_an_unknown_distance_is_refused_by_name():
    with pytest.raises(ConfigurationError, match="manhattan.*cosine"):
        head_of(distance="manhattan")
