import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.modules.lm_heads.vector_head_base import TargetCentering
from tests.processes import run_in_two_processes


def vectors(num, dim=7, seed=1):
    """Vectors that share a direction."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num, dim, generator=generator) + 2 * torch.ones(dim)


def centered_by_numpy(targets):
    directions = targets.double().numpy()
    directions /= numpy.linalg.norm(directions, axis=1, keepdims=True)
    return directions - directions.mean(axis=0)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any))
def test_it_equals_the_formula_after_any_updates(sizes):
    targets = vectors(sum(sizes))
    centering = TargetCentering(7)
    for part in targets.split(sizes):
        centering.update(part)
    numpy.testing.assert_allclose(centering(targets), centered_by_numpy(targets), atol=1e-6)


def test_the_mean_becomes_final_and_is_archived():
    final = TargetCentering(7)
    final.update(vectors(7000))
    before = final(vectors(10))
    final.update(-vectors(500, seed=2))
    assert torch.equal(final(vectors(10)), before)
    centering, fresh = TargetCentering(7), TargetCentering(7)
    centering.update(vectors(3000))
    # After loading, a mean that was final can be updated again.
    for each in (fresh, final):
        each.load_state_dict(centering.state_dict())
    targets = vectors(100, seed=5)
    for each in (centering, fresh, final):
        each.update(targets)
    for each in (fresh, final):
        assert torch.equal(each(targets), centering(targets))


def test_without_targets_vectors_only_get_unit_norm():
    centering = TargetCentering(3)
    centering.update(torch.zeros(1, 3))
    expected = torch.tensor([[0.6, 0.0, 0.8]])
    torch.testing.assert_close(centering(10 * expected), expected)


def test_zero_vectors_stay_zero_and_are_not_counted():
    centering, other = TargetCentering(7), TargetCentering(7)
    targets = vectors(100)
    centering.update(torch.cat([targets, torch.zeros(50, 7)]))
    mask = torch.arange(300).view(3, 100) >= 200
    other.update(torch.cat([torch.randn(200, 7), targets]).view(3, 100, 7), mask)
    torch.testing.assert_close(centering(targets), other(targets))
    assert not centering(torch.zeros(2, 7)).any()


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.double])
def test_it_computes_in_at_least_single_precision(dtype):
    centering = TargetCentering(7)
    centering.update(vectors(50))
    found = centering.to(dtype)(vectors(50).to(dtype))
    assert found.dtype == (torch.double if dtype == torch.double else torch.float32)
    numpy.testing.assert_allclose(found, centered_by_numpy(vectors(50)), atol=0.01)


def test_autocast_changes_nothing():
    targets, found = vectors(50), []
    for enabled in (False, True):
        centering = TargetCentering(7)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            centering.update(targets)
            found.append(centering(targets))
    torch.testing.assert_close(*found)


def check_in_each_process(rank, world_size, device, parts, expected):
    centering = TargetCentering(7)
    centering.update(parts[rank])
    torch.testing.assert_close(centering(torch.cat(parts)), expected)


def test_all_processes_estimate_from_the_targets_of_all():
    centering = TargetCentering(7)
    centering.update(vectors(90))
    run_in_two_processes(check_in_each_process, vectors(90).split([50, 40]), centering(vectors(90)))
