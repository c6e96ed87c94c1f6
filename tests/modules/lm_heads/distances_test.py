import math

import mpmath
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params

from allennlp_semfit.modules.lm_heads.distances import Distance, log_vmf_normalizer

# From 1e-3 to 1e4, no power of ten among them.
CONCENTRATIONS = [1.07 * 10 ** (exponent / 2) for exponent in range(-6, 8)] + [1e-3, 1e4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dim", [2, 3, 10, 61, 100, 300, 1024])
def test_the_vmf_normalizer_and_its_gradient_are_those_of_mpmath(dim, dtype):
    k = torch.tensor(CONCENTRATIONS, dtype=dtype, requires_grad=True)
    log_normalizer = log_vmf_normalizer(k, dim)
    (gradient,) = torch.autograd.grad(log_normalizer.sum(), k)
    with mpmath.workdps(50):
        order = mpmath.mpf(dim) / 2 - 1
        for value, slope, x in zip(log_normalizer.tolist(), gradient.tolist(), k.tolist()):
            bessel = mpmath.besseli(order, x)
            expected = order * mpmath.log(x) - mpmath.log(bessel)
            expected -= mpmath.mpf(dim) / 2 * mpmath.log(2 * mpmath.pi)
            assert value == pytest.approx(float(expected), rel=1e-6)
            assert slope == pytest.approx(float(-mpmath.besseli(order + 1, x) / bessel), rel=1e-6)


def test_the_vmf_density_integrates_to_one_on_the_circle():
    k = torch.tensor(2.3, dtype=torch.float64)
    angles = torch.linspace(0, 2 * math.pi, 1001, dtype=torch.float64)[:-1]
    density = (log_vmf_normalizer(k, 2) + k * angles.cos()).exp()
    assert density.mean().item() * 2 * math.pi == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("dim", [2, 300])
def test_the_vmf_normalizer_is_finite_and_flat_at_zero(dim):
    k = torch.zeros(1, requires_grad=True)
    log_normalizer = log_vmf_normalizer(k, dim)
    log_normalizer.backward()
    # 1 / the surface of the unit sphere
    expected = math.lgamma(dim / 2) - math.log(2) - dim / 2 * math.log(math.pi)
    assert log_normalizer.item() == pytest.approx(expected, rel=1e-6)
    assert k.grad.item() == pytest.approx(0.0, abs=1e-6)


def naive(name, c, w):
    """The formulas of the paper, one pair at a time, in mpmath."""
    with mpmath.workdps(50):
        c, w = ([mpmath.mpf(x) for x in vector.tolist()] for vector in (c, w))
        dot = sum(x * y for x, y in zip(c, w))
        c_norm, w_norm = (mpmath.sqrt(sum(x * x for x in vector)) for vector in (c, w))
        if name == "cosine":
            return float(-dot / c_norm / w_norm)
        if name == "l2":
            return float(sum((x - y) ** 2 for x, y in zip(c, w)))
        half = mpmath.mpf(len(c)) / 2
        log_normalizer = (half - 1) * mpmath.log(c_norm) - half * mpmath.log(2 * mpmath.pi)
        log_normalizer -= mpmath.log(mpmath.besseli(half - 1, c_norm))
        return float(-log_normalizer - 0.1 * dot / w_norm + 0.02 * c_norm)


@pytest.mark.parametrize("name", ["cosine", "l2", "nllvmf"])
@pytest.mark.parametrize("shape", [(5, 3), (2, 7, 300)])
def test_a_distance_is_the_formula_of_the_paper(name, shape):
    context, target = 3 * torch.randn(shape), torch.randn(shape)
    result = Distance.from_params(Params({"type": name}))(context, target)
    assert result.shape == shape[:-1]
    pairs = zip(context.view(-1, shape[-1]), target.view(-1, shape[-1]))
    for value, pair in zip(result.flatten().tolist(), pairs):
        assert value == pytest.approx(naive(name, *pair), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["cosine", "l2", "nllvmf"])
def test_gradients_in_float64(name):
    context = torch.randn(4, 11, dtype=torch.float64, requires_grad=True)
    target = torch.randn(4, 11, dtype=torch.float64)
    function = Distance.by_name(name)()
    assert torch.autograd.gradcheck(lambda c: function(c, target), (context,))


@pytest.mark.parametrize("name", ["cosine", "l2", "nllvmf"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_inputs_add_no_error_beyond_their_rounding(name, dtype):
    function = Distance.by_name(name)()
    # 300 squares of 20 do not fit into float16.
    context = (20 * torch.randn(6, 300)).to(dtype).requires_grad_()
    target = (20 * torch.randn(6, 300)).to(dtype)
    result = function(context, target)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, function(context.float(), target.float()))
    result.sum().backward()
    assert context.grad.isfinite().all()


@pytest.mark.parametrize("name", ["cosine", "l2", "nllvmf"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_context_of_zeros_has_a_finite_gradient(name, dtype):
    context = torch.zeros(1, 10, dtype=dtype, requires_grad=True)
    Distance.by_name(name)()(context, torch.randn(1, 10)).sum().backward()
    assert context.grad.isfinite().all()


def test_only_l2_depends_on_the_norm_of_the_target():
    context, target = torch.randn(3, 10), torch.randn(3, 10)
    for name in ("cosine", "nllvmf"):
        function = Distance.by_name(name)()
        torch.testing.assert_close(function(context, target), function(context, 5 * target))
    l2 = Distance.by_name("l2")()
    assert not torch.allclose(l2(context, target), l2(context, 5 * target))


def test_configuration():
    vmf = Distance.from_params(Params({"type": "nllvmf", "lambda_1": 0.5, "lambda_2": 2.0}))
    context, target = torch.randn(3, 10), torch.randn(3, 10)
    with_defaults = Distance.by_name("nllvmf")()(context, target)
    cosines = torch.nn.functional.cosine_similarity(context, target)
    expected = with_defaults + context.norm(dim=-1) * ((0.5 - 0.02) - (2.0 - 0.1) * cosines)
    torch.testing.assert_close(vmf(context, target), expected)
    with pytest.raises(ConfigurationError, match="`lambda_2` is -1; it must be at least 0"):
        Distance.from_params(Params({"type": "nllvmf", "lambda_2": -1}))
    with pytest.raises(ConfigurationError, match="manhattan.*cosine.*l2.*nllvmf"):
        Distance.from_params(Params({"type": "manhattan"}))


def test_second_derivatives_of_nllvmf_are_refused():
    context = torch.randn(3, 10, requires_grad=True)
    loss = Distance.by_name("nllvmf")()(context, torch.randn(3, 10)).sum()
    with pytest.raises(RuntimeError, match="without `create_graph=True`"):
        torch.autograd.grad(loss, context, create_graph=True)
