import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.modules.lm_heads.vector_head_base import TargetTransform
from tests.processes import run_in_two_processes


def vectors(num, dim=7, seed=1):
    """Vectors that share a direction, with a different variance in each direction."""
    mixing = torch.randn(dim, dim, generator=torch.Generator().manual_seed(0))
    mixing = torch.eye(dim) + 0.3 * mixing
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num, dim, generator=generator) @ mixing + 2 * torch.ones(dim)


def centered_by_numpy(targets):
    directions = targets.double().numpy()
    directions /= numpy.linalg.norm(directions, axis=1, keepdims=True)
    return directions - directions.mean(axis=0)


def whitened_by_numpy(targets):
    centered = centered_by_numpy(targets)
    num, dim = centered.shape
    covariance = numpy.cov(centered.T, bias=True)
    covariance += dim / num * covariance.trace() / dim * numpy.eye(dim)
    values, columns = numpy.linalg.eigh(covariance)
    root = columns @ numpy.diag(values**-0.5) @ columns.T
    return centered @ root / numpy.sqrt(dim)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any))
def test_it_equals_the_formula_after_any_updates(sizes):
    targets = vectors(sum(sizes))
    whitening = TargetTransform(7, True)
    for part in targets.split(sizes):
        whitening.update(part)
    if len(targets) < 30:
        # Ill-conditioned in single precision, but finite.
        assert whitening(targets).isfinite().all()
    else:
        numpy.testing.assert_allclose(whitening(targets), whitened_by_numpy(targets), atol=1e-3)


@pytest.mark.parametrize(
    ("mean", "spectrum"), [(18.0, torch.ones(300)), (7.0, torch.logspace(0, -2, 300)), (1e3, 1.0)]
)
@pytest.mark.parametrize("whiten", [True, False])
def test_vectors_that_share_a_direction(whiten, mean, spectrum):
    noise = torch.randn(3000, 300, generator=torch.Generator().manual_seed(1)) * spectrum
    direction = torch.nn.functional.normalize(torch.linspace(-1, 1, 300), dim=0)
    targets = noise + mean * noise.norm(dim=1).mean() * direction
    transform = TargetTransform(300, whiten)
    for part in targets.split(400):
        transform.update(part)
    expected = whitened_by_numpy(targets) if whiten else centered_by_numpy(targets)
    # The error of float32 is relative to the vectors before they are centered.
    error = numpy.linalg.norm(transform(targets) - expected) / numpy.linalg.norm(expected)
    assert error < 1e-6 * mean


def test_the_estimates_become_final_and_are_archived():
    final = TargetTransform(7, True)
    final.update(vectors(7000))
    before = final(vectors(10))
    final.update(-vectors(500, seed=2))
    assert torch.equal(final(vectors(10)), before)
    whitening, fresh = TargetTransform(7, True), TargetTransform(7, True)
    whitening.update(vectors(3000))
    # After loading, estimates that were final can be updated again.
    for each in (fresh, final):
        each.load_state_dict(whitening.state_dict())
    targets = vectors(100, seed=5)
    for each in (whitening, fresh, final):
        each.update(targets)
    for each in (fresh, final):
        assert torch.equal(each(targets), whitening(targets))


def test_without_targets_vectors_only_get_unit_norm():
    whitening = TargetTransform(3, True)
    whitening.update(torch.zeros(1, 3))
    expected = torch.tensor([[0.6, 0.0, 0.8]])
    torch.testing.assert_close(whitening(10 * expected), expected)


def test_zero_vectors_stay_zero_and_are_not_counted():
    whitening, other = TargetTransform(7, True), TargetTransform(7, True)
    targets = vectors(100)
    whitening.update(torch.cat([targets, torch.zeros(50, 7)]))
    mask = torch.arange(300).view(3, 100) >= 200
    other.update(torch.cat([torch.randn(200, 7), targets]).view(3, 100, 7), mask)
    torch.testing.assert_close(whitening(targets), other(targets))
    for transform in (whitening, TargetTransform(7, False)):
        assert not transform(torch.zeros(2, 7)).any()


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.double])
def test_it_computes_in_at_least_single_precision(dtype):
    whitening = TargetTransform(7, True)
    whitening.update(vectors(50))
    targets = vectors(50).to(dtype)
    found = whitening.to(dtype)(targets)
    assert found.dtype == (torch.double if dtype == torch.double else torch.float32)
    numpy.testing.assert_allclose(found, whitened_by_numpy(vectors(50)), atol=0.05)


def test_autocast_changes_nothing():
    targets, found = vectors(50), []
    for enabled in (False, True):
        whitening = TargetTransform(7, True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            whitening.update(targets)
            found.append(whitening(targets))
    torch.testing.assert_close(*found)


def check_in_each_process(rank, world_size, device, parts, expected):
    whitening = TargetTransform(7, True)
    whitening.update(parts[rank])
    torch.testing.assert_close(whitening(torch.cat(parts)), expected)


def test_all_processes_estimate_from_the_targets_of_all():
    whitening = TargetTransform(7, True)
    whitening.update(vectors(90))
    run_in_two_processes(check_in_each_process, vectors(90).split([50, 40]), whitening(vectors(90)))
