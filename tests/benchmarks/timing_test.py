import torch

from benchmarks.timing import time_interleaved


def test_each_runs_once_to_warm_up_and_then_in_turn():
    runs = []
    candidates = {name: lambda name=name: runs.append(name) for name in ("a", "b")}
    timings = time_interleaved(candidates, repeats=2, device=torch.device("cpu"))
    assert runs == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in timings.items()} == {"a": 2, "b": 2}
    assert all(seconds > 0 for each in timings.values() for seconds in each)
