"""What the benchmarks share: contestants timed in turn, a table of it, and the same as JSON."""

import json
import logging
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import torch
from allennlp.common import Tqdm

__all__ = ["Timings", "report", "time_in_turn"]

Timings = Dict[str, List[float]]

logger = logging.getLogger(__name__)


def time_in_turn(
    contestants: Dict[str, Callable[[], Any]], *, repeats: int, device: torch.device
) -> Timings:
    """
    Runs every contestant once to warm up, then `repeats` times one after the other: what else
    happens on the machine meets all of them alike.

    # Returns

    `Timings`
        For each contestant, the seconds of each of its runs.
    """

    def run(contestant: Callable[[], Any]) -> float:
        _synchronize(device)
        start = time.perf_counter()
        contestant()
        _synchronize(device)
        return time.perf_counter() - start

    seconds: Timings = {name: [] for name in contestants}
    for contestant in Tqdm.tqdm(contestants.values(), desc="warming up"):
        run(contestant)
    for _ in Tqdm.tqdm(range(repeats), desc="rounds"):
        for name, contestant in contestants.items():
            seconds[name].append(run(contestant))
    return seconds


def report(timings: Timings, reference: str, out: Path, **facts: Any) -> None:
    """
    Logs a table of the timings and their ratios to the reference's median, and writes it to `out`
    as JSON with the machine and the `facts`.
    """
    base = statistics.median(timings[reference])
    rows = {
        name: {
            "min_seconds": min(seconds),
            "median_seconds": statistics.median(seconds),
            "max_seconds": max(seconds),
            f"{reference} / this": base / statistics.median(seconds),
        }
        for name, seconds in timings.items()
    }
    width = max(map(len, timings))
    lines = [f"{'':{width}}  {'min':>9}  {'median':>9}  {'max':>9}  {reference} / this"]
    for name, row in rows.items():
        low, median, high, ratio = row.values()
        lines.append(f"{name:{width}}  {low:8.3f}s  {median:8.3f}s  {high:8.3f}s  {ratio:.2f}")
    logger.info("\n%s", "\n".join(lines))
    on_cuda = facts.get("device", "cpu").startswith("cuda")
    machine = {
        "hardware": torch.cuda.get_device_name() if on_cuda else platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({**machine, **facts, "timings": rows}, indent=2) + "\n")
    logger.info("Written to %s", out)


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
