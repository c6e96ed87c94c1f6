import pytest
import torch

from benchmarks.timing import extrapolate, time_interleaved


def test_each_runs_once_to_warm_up_and_then_in_turn():
    runs = []
    candidates = {name: lambda name=name: runs.append(name) for name in ("a", "b")}
    timings = time_interleaved(candidates, repeats=2, device=torch.device("cpu"))
    assert runs == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in timings.items()} == {"a": 2, "b": 2}
    assert all(seconds > 0 for each in timings.values() for seconds in each)


def test_the_line_through_two_points():
    assert extrapolate((2, 10.0), (4, 14.0), 7) == pytest.approx(20.0)
    assert extrapolate((2, 10.0), (2, 10.0), 7) == 10.0
    # A larger batch takes no less time.
    assert extrapolate((2, 10.0), (4, 9.0), 7) == 10.0
