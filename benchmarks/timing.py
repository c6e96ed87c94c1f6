"""Candidates timed in turn."""

import time
from typing import Any, Callable, Dict, List, Tuple

import torch
from allennlp.common import Tqdm

__all__ = ["Timings", "on_the_line", "time_in_turn"]

Timings = Dict[str, List[float]]


def time_in_turn(
    candidates: Dict[str, Callable[[], Any]], *, repeats: int, device: torch.device
) -> Timings:
    """
    Runs every candidate once to warm up, then `repeats` times one after the other: what else
    happens on the machine meets all of them alike.

    # Returns

    `Timings`
        For each candidate, the seconds of each of its runs.
    """

    def run(candidate: Callable[[], Any]) -> float:
        _synchronize(device)
        start = time.perf_counter()
        candidate()
        _synchronize(device)
        return time.perf_counter() - start

    seconds: Timings = {name: [] for name in candidates}
    for candidate in Tqdm.tqdm(candidates.values(), desc="warming up"):
        run(candidate)
    for _ in Tqdm.tqdm(range(repeats), desc="rounds"):
        for name, candidate in candidates.items():
            seconds[name].append(run(candidate))
    return seconds


def on_the_line(first: Tuple[float, float], second: Tuple[float, float], x: float) -> float:
    """
    The height at `x` of the line through two points, which is level if the second is lower than
    the first: a larger batch takes no less time, whatever noise there is.
    """
    (x1, y1), (x2, y2) = first, second
    return y1 if x1 == x2 else y1 + max(y2 - y1, 0.0) / (x2 - x1) * (x - x1)


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
