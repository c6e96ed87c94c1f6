import numpy
import pytest
import torch

from allennlp_semfit.functional import unit_vectors
from allennlp_semfit.training.token_averages import TokenAverage


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


def test_the_best_constant_prediction_is_the_mean_direction():
    metric = TokenAverage()
    vectors = [unit_vectors(batch) for batch in batches()]
    for batch in vectors:
        metric(batch)
    directions = torch.cat(vectors).double().numpy()
    answer = directions.mean(axis=0)
    expected = (directions @ answer).mean() / numpy.linalg.norm(answer)
    assert metric.get_metric() == pytest.approx(expected, rel=1e-5)


def test_sums_are_not_rounded():
    metric = TokenAverage()
    # Their sum does not fit into bfloat16.
    metric(torch.ones(1001, dtype=torch.bfloat16))
    assert metric.get_metric(reset=True) == 1
    # Single precision has no number between the first and the next but one.
    values = [2.0**24] + 1000 * [1.0]
    for value in values:
        metric(torch.tensor([value]))
    assert metric.get_metric() == pytest.approx(sum(values) / 1001, rel=1e-9)
