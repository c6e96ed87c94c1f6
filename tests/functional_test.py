import math
from functools import partial

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit import functional
from allennlp_semfit.functional import (
    contrastive_loss,
    distinct_vectors,
    log_vmf_normalizer,
    negative_log_likelihoods,
    semfit_loss,
    unit_vectors,
    vectors_differ,
)

# From 1e-3 to 1e4, no power of ten among them.
CONCENTRATIONS = [1.07 * 10 ** (exponent / 2) for exponent in range(-6, 8)] + [1e-3, 1e4]
DISTANCES = {
    "cosine": functional.cosine_distance,
    "l2": functional.squared_l2_distance,
    "nllvmf": functional.nllvmf_distance,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dim", [2, 3, 10, 61, 100, 300, 1024])
def test_the_vmf_normalizer_and_its_gradient_are_those_of_mpmath(dim, dtype):
    k = torch.tensor(CONCENTRATIONS, dtype=dtype, requires_grad=True)
    log_normalizer = log_vmf_normalizer(k, dim)
    (gradient,) = torch.autograd.grad(log_normalizer.sum(), k)
    # Eight times the rounding error of the result, or the error of the expansion.
    rel, error = 8 * torch.finfo(dtype).eps, 1e-9
    with mpmath.workdps(50):
        order = mpmath.mpf(dim) / 2 - 1
        for value, slope, x in zip(log_normalizer.tolist(), gradient.tolist(), k.tolist()):
            bessel = mpmath.besseli(order, x)
            expected = order * mpmath.log(x) - mpmath.log(bessel)
            expected -= mpmath.mpf(dim) / 2 * mpmath.log(2 * mpmath.pi)
            assert value == pytest.approx(float(expected), rel=rel, abs=error)
            expected = -mpmath.besseli(order + 1, x) / bessel
            assert slope == pytest.approx(float(expected), rel=max(rel, 2 * error))


@pytest.mark.parametrize("dim", [2, 300])
def test_the_vmf_normalizer_is_finite_and_flat_at_zero(dim):
    k = torch.zeros(1, requires_grad=True)
    log_normalizer = log_vmf_normalizer(k, dim)
    log_normalizer.backward()
    # 1 / the surface of the unit sphere
    expected = math.lgamma(dim / 2) - math.log(2) - dim / 2 * math.log(math.pi)
    assert log_normalizer.item() == pytest.approx(expected, rel=1e-6)
    assert k.grad.item() == pytest.approx(0.0, abs=1e-6)


def naive_distance(name, c, w):
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


@pytest.mark.parametrize("name", DISTANCES)
@given(st.integers(0, 5), st.integers(1, 9), st.integers(2, 20), st.booleans())
def test_the_semfit_loss_is_the_formula_of_the_paper(name, num, hidden_dim, dim, has_bias):
    torch.manual_seed(num)
    context, vectors = 3 * torch.randn(num, hidden_dim), torch.randn(num, dim) + 1
    weight, bias = torch.randn(dim, hidden_dim), torch.randn(dim) if has_bias else None
    predicted = context.double() @ weight.double().T + (bias.double() if has_bias else 0.0)
    expected = [naive_distance(name, *pair) for pair in zip(predicted, vectors)]
    losses = semfit_loss(context, vectors, weight, bias, name, "none")
    torch.testing.assert_close(losses, torch.tensor(expected), rtol=1e-4, atol=1e-4)
    total = semfit_loss(context, vectors, weight, bias, name, "sum")
    torch.testing.assert_close(total, losses.sum())
    mean = semfit_loss(context, vectors, weight, bias, name)
    torch.testing.assert_close(mean, losses.mean(), equal_nan=True)


@pytest.mark.parametrize("name", DISTANCES)
def test_a_distance_has_the_right_gradient(name):
    predicted = torch.randn(2, 3, 11, dtype=torch.float64, requires_grad=True)
    targets = unit_vectors(torch.randn(2, 3, 11, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda c: DISTANCES[name](c, targets), (predicted,))


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_inputs_add_no_error_beyond_their_rounding(name, dtype):
    # 300 squares of 20 do not fit into float16.
    predicted = (20 * torch.randn(6, 300)).to(dtype).requires_grad_()
    targets = (20 * torch.randn(6, 300)).to(dtype)
    if name != "l2":
        targets = unit_vectors(targets)
    result = DISTANCES[name](predicted, targets)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, DISTANCES[name](predicted.float(), targets.float()))
    result.sum().backward()
    assert predicted.grad.isfinite().all()


@pytest.mark.parametrize("function", [*DISTANCES.values(), lambda c, _: unit_vectors(c)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_prediction_of_zeros_has_a_finite_gradient(function, dtype):
    predicted = torch.zeros(1, 10, dtype=dtype, requires_grad=True)
    function(predicted, unit_vectors(torch.randn(1, 10))).sum().backward()
    assert predicted.grad.isfinite().all()


def naive_contrastive_losses(context, vectors, weight, bias, scale):
    predicted = context @ weight.T + bias
    words = {tuple(vector.tolist()): vector for vector in vectors if vector.any()}
    losses = []
    for one, vector in zip(predicted, vectors):
        scores = {
            word: scale * torch.cosine_similarity(one, other, dim=0)
            for word, other in words.items()
        }
        own = scores.get(tuple(vector.tolist()))
        losses.append(
            scale * one.sum() * 0
            if own is None
            else torch.stack([*scores.values()]).logsumexp(0) - own
        )
    return torch.stack(losses)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_the_contrastive_loss_is_the_formula(numbers):
    torch.manual_seed(1)
    table = torch.randn(6, 4, dtype=torch.float64)
    # Of a word without a vector.
    table[0] = 0
    vectors = table[numbers]
    context = torch.randn(len(numbers), 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(4, dtype=torch.float64, requires_grad=True)
    scale = torch.tensor(7.0, dtype=torch.float64, requires_grad=True)
    leaves = [context, weight, bias, scale]
    losses = contrastive_loss(context, vectors, weight, bias, scale, reduction="none")
    expected = naive_contrastive_losses(context, vectors, weight, bias, scale)
    torch.testing.assert_close(losses, expected)
    gradients = [torch.autograd.grad(some.sum(), leaves) for some in (losses, expected)]
    torch.testing.assert_close(*gradients)
    mean = contrastive_loss(context, vectors, weight, bias, scale)
    torch.testing.assert_close(mean, expected.mean())


def test_negatives_are_drawn_without_replacement(monkeypatch):
    context, vectors = torch.randn(7, 3), torch.randn(7, 4)
    vectors[3], vectors[5] = vectors[0], 0
    weight, bias = torch.randn(4, 3), torch.randn(4)
    order = torch.tensor([4, 2, 0, 1, 3])
    monkeypatch.setattr(torch, "randperm", lambda *_, **__: order)
    losses = contrastive_loss(context, vectors, weight, bias, max_negatives=3, reduction="none")
    words, indices = distinct_vectors(vectors)
    expected = []
    for one, vector, index in zip(context, vectors, indices):
        # Each word is compared with three others and with itself.
        others = [other for other in order.tolist() if other != index][:3]
        compared = torch.cat([vector[None], words[others]])
        losses_of_all = contrastive_loss(one.expand(4, 3), compared, weight, bias, reduction="none")
        expected.append(losses_of_all[0])
    torch.testing.assert_close(losses, torch.stack(expected))


@given(st.lists(st.integers(0, 5), max_size=12), st.sampled_from(["float32", "float16", "float64"]))
def test_distinct_vectors_are_the_words_of_a_batch(numbers, dtype):
    table = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    table[:, 1] = -0.0
    # The same values in another order.
    table[5] = table[4, [0, 1, 3, 2]]
    vectors = table.to(getattr(torch, dtype))[numbers].view(-1, 4)
    vectors[::2, 1] = 0.0
    mask = torch.tensor(numbers) != 0
    words, indices = distinct_vectors(vectors, mask)
    assert len(words) == len(set(numbers) - {0})
    assert indices[~mask].eq(-1).all()
    assert words[indices[mask]].equal(vectors[mask])


def test_likelihoods_are_exact_under_autocast():
    predicted, words = unit_vectors(torch.randn(7, 50)), unit_vectors(torch.randn(9, 50))
    indices = torch.arange(7)
    expected = negative_log_likelihoods(100 * predicted, words, indices)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = negative_log_likelihoods(100 * predicted, words, indices)
    torch.testing.assert_close(losses, expected)


@pytest.mark.parametrize(
    "loss", [contrastive_loss, *(partial(semfit_loss, distance=name) for name in DISTANCES)]
)
def test_words_get_no_gradient(loss):
    context, weight = torch.randn(5, 3), torch.randn(4, 3, requires_grad=True)
    vectors = torch.randn(5, 4, requires_grad=True)
    loss(context, vectors, weight).backward()
    assert weight.grad.any()
    assert vectors.grad is None


def test_one_vector_can_be_another_and_rounding_makes_none():
    trained = torch.randn(3, 300)
    assert not vectors_differ(trained.bfloat16().float(), trained)
    assert vectors_differ(torch.stack([trained[0], trained[2], trained[2]]), trained)


def words_of(context, vectors, weight):
    words, numbers = distinct_vectors(vectors)
    return context @ weight.T * words[numbers]


# Of contexts `(..., hidden_dim)`, vectors `(..., dim)` and a weight `(dim, hidden_dim)`.
FUNCTIONS = {
    **{
        f"semfit_loss-{name}": partial(semfit_loss, distance=name, reduction="none")
        for name in DISTANCES
    },
    "contrastive_loss": partial(contrastive_loss, reduction="none"),
    "negative_log_likelihoods": lambda c, v, w: negative_log_likelihoods(
        c @ w.T, *distinct_vectors(v)
    ),
    **{
        distance.__name__: lambda c, v, w, distance=distance: distance(c @ w.T, unit_vectors(v))
        for distance in DISTANCES.values()
    },
    "log_vmf_normalizer": lambda c, v, w: log_vmf_normalizer((c @ w.T).square().sum(-1), 7),
    "unit_vectors": lambda c, v, w: unit_vectors(c @ w.T),
    "distinct_vectors": words_of,
}
each_function = pytest.mark.parametrize("name", FUNCTIONS)


def test_all_functions_are_tested():
    assert {name.partition("-")[0] for name in FUNCTIONS} >= set(functional.__all__)


def arguments(*shape, dtype=torch.float64):
    vectors = torch.randn(5, 4, dtype=dtype)[torch.randint(5, shape)]
    return torch.randn(*shape, 3, dtype=dtype), vectors, torch.randn(4, 3, dtype=dtype)


@each_function
@pytest.mark.parametrize("shape", [(), (1,), (12,), (2, 6), (3, 1, 4), (0,), (2, 0), (0, 3)])
def test_leading_dimensions(name, shape):
    context, vectors, weight = arguments(*shape)
    result = FUNCTIONS[name](context, vectors, weight)
    flat = FUNCTIONS[name](context.view(-1, 3), vectors.view(-1, 4), weight)
    assert result.shape == (*shape, *flat.shape[1:])
    torch.testing.assert_close(result, flat.view_as(result))


@each_function
def test_a_value_that_is_not_a_number_is_not_hidden(name):
    context, vectors, weight = arguments(2, 5)
    context[1, 2] = math.nan
    assert FUNCTIONS[name](context, vectors, weight)[1, 2].isnan().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("length", [1e18, 1e19, 2e19, 1e30, 1e37])
def test_long_vectors_have_directions(dtype, length):
    context, vectors, weight = arguments(7, dtype=dtype)
    context.requires_grad_()

    def results(context, vectors):
        losses = [
            semfit_loss(context, vectors, weight, reduction="none"),
            contrastive_loss(context, vectors, weight, reduction="none"),
        ]
        return torch.stack([*losses, -functional.cosine_distance(vectors, unit_vectors(vectors))])

    expected = results(context, vectors)
    # A power of two rounds nothing.
    factor = 2.0 ** int(math.log2(length))
    torch.testing.assert_close(results(context, factor * vectors), expected)
    predicted = results(factor * context, vectors)
    torch.testing.assert_close(predicted, expected)
    predicted.sum().backward()
    assert context.grad.isfinite().all()
    in_nllvmf = partial(semfit_loss, weight=weight, distance="nllvmf", reduction="none")
    torch.testing.assert_close(in_nllvmf(context, factor * vectors), in_nllvmf(context, vectors))
    assert in_nllvmf(factor * context, vectors).isfinite().all()


@pytest.mark.parametrize("function", [semfit_loss, contrastive_loss])
@pytest.mark.parametrize(
    ("vectors", "weight"),
    [
        *((shape, (4, 3)) for shape in [(6, 4), (1, 2, 4), (1, 4), (4,), (3, 2, 1), (3, 2, 5)]),
        *(((3, 2, 4), shape) for shape in [(3, 4), (4,), (1, 4, 3)]),
    ],
)
def test_shapes_that_do_not_match(function, vectors, weight):
    message = r"`context` has the shape \(3, 2, 3\), `vectors` \(.*`weight` \(.*\); they must be"
    with pytest.raises(ValueError, match=message):
        function(torch.randn(3, 2, 3), torch.randn(vectors), torch.randn(weight))


@pytest.mark.parametrize("max_negatives", [0, -1, -3])
def test_fewer_than_one_negative(max_negatives):
    context, vectors, weight = arguments(12)
    message = f"`max_negatives` is {max_negatives}; it must be 1 or more"
    with pytest.raises(ValueError, match=message):
        contrastive_loss(context, vectors, weight, max_negatives=max_negatives)


def test_unknown_names_are_refused():
    tensors = torch.randn(5, 3), torch.randn(5, 4), torch.randn(4, 3)
    with pytest.raises(ValueError, match="'l1'; it must be one of cosine, l2, nllvmf"):
        semfit_loss(*tensors, distance="l1")
    for function in (semfit_loss, contrastive_loss):
        with pytest.raises(ValueError, match="`reduction` is 'max'"):
            function(*tensors, reduction="max")
