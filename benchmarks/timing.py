"""Times candidates in interleaved rounds."""

import time
from typing import Any, Callable, Dict, List

import torch
from allennlp.common import Tqdm

Timings = Dict[str, List[float]]


def time_interleaved(
    candidates: Dict[str, Callable[[], Any]], *, repeats: int, device: torch.device
) -> Timings:
    """
    Runs every candidate once as a warm-up, then `repeats` rounds of all candidates in turn, so that
    other load on the machine affects all of them equally. Returns the seconds of each run.
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


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
