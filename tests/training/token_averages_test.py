import numpy
import pytest
import torch

from allennlp_semfit.functional import unit_vectors
from allennlp_semfit.training.token_averages import TokenAverage
from tests.processes import run_in_two_processes


def batches():
    return [torch.randn(size, 6) + 0.5 for size in (1, 17, 4)]


def test_the_mean_is_over_tokens_for_any_batches():
    metric = TokenAverage()
    assert metric.get_metric() == 0.0
    values = [batch[:, 0] for batch in batches()]
    for batch in values:
        metric(batch)
    assert metric.get_metric() == pytest.approx(torch.cat(values).double().mean().item())
    assert metric.get_metric(reset=True) != 0.0
    assert metric.get_metric() == 0.0


def test_no_search_finds_a_better_constant_prediction():
    metric = TokenAverage()
    assert metric.get_metric() == 0.0
    vectors = [unit_vectors(batch) for batch in batches()]
    for batch in vectors:
        metric(batch)
    reported = metric.get_metric(reset=True)
    assert metric.get_metric() == 0.0

    directions = torch.cat(vectors).double().numpy()
    answer = directions.mean(axis=0)
    expected = (directions @ answer).mean() / numpy.linalg.norm(answer)
    assert reported == pytest.approx(expected, rel=1e-5)
    others = numpy.random.default_rng(0).normal(answer, 0.1, size=(1000, 6))
    others /= numpy.linalg.norm(others, axis=1, keepdims=True)
    assert (directions @ others.T).mean(axis=0).max() <= reported


def _check_in_each_process(global_rank, world_size, gpu_id, values, expected, expected_direction):
    average, direction = TokenAverage(), TokenAverage()
    average(values[global_rank][:, 0])
    direction(values[global_rank])
    assert average.get_metric() == pytest.approx(expected)
    assert direction.get_metric() == pytest.approx(expected_direction)


def test_all_processes_report_the_same():
    values = batches()[:2]
    average, direction = TokenAverage(), TokenAverage()
    for batch in values:
        average(batch[:, 0])
        direction(batch)
    run_in_two_processes(
        _check_in_each_process, values, average.get_metric(), direction.get_metric()
    )
