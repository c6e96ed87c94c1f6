import pytest
import torch

from allennlp_semfit.training.token_averages import TokenAverage


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
