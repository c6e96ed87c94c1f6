"""A model's training step in one process, and in several that exchange their gradients."""

import os
import tempfile
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Callable, Dict, List

import torch
from torch.nn.parallel import DistributedDataParallel

from benchmarks.heads import SpeedTableModel, training_step
from benchmarks.processes import process_context
from benchmarks.timing import Timings, time_in_turn

__all__ = ["time_processes"]

CPU = torch.device("cpu")


def time_processes(
    layers: List[str],
    num_classes: int,
    hidden_dim: int,
    batch_size: int,
    num_words: int,
    *,
    num_processes: int,
    repeats: int,
) -> Timings:
    """
    Each process has one thread.

    # Returns

    `Timings`
        Of each layer, "…, 1 process" and "…, N processes". A step of the latter has `batch_size`
        sentences in each of them.
    """
    context = process_context()
    with tempfile.TemporaryDirectory() as temporary:
        meeting_point = f"file://{Path(temporary) / 'processes'}"
        results = context.SimpleQueue()
        sizes = (layers, num_classes, hidden_dim, batch_size, num_words, repeats)
        processes = [
            context.Process(target=_work, args=(rank, num_processes, meeting_point, results, sizes))
            for rank in range(num_processes)
        ]
        for process in processes:
            process.start()
        while running := [process for process in processes if process.exitcode is None]:
            wait([process.sentinel for process in running])
            if any(process.exitcode for process in processes):
                # The others would wait for the one that failed.
                for process in running:
                    process.kill()
        if any(process.exitcode for process in processes):
            raise RuntimeError(f"One of {num_processes} processes failed; its error is above.")
        timings: Timings = results.get()
    return timings


def _work(rank: int, num_processes: int, meeting_point: str, results: Any, sizes: Any) -> None:
    layers, num_classes, hidden_dim, batch_size, num_words, repeats = sizes
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    if rank:
        os.environ["TQDM_DISABLE"] = "1"
    torch.distributed.init_process_group(
        "gloo", init_method=meeting_point, rank=rank, world_size=num_processes
    )
    contestants: Dict[str, Callable[[], Any]] = {}
    for layer in layers:

        def step_of(model: torch.nn.Module, layer: str = layer) -> Callable[[], None]:
            return training_step(model, layer, num_classes, num_words, CPU)(batch_size)

        # The others wait while one process works alone, on a model that exchanges nothing.
        alone = step_of(SpeedTableModel(layer, num_classes, hidden_dim)) if rank == 0 else _wait
        model = SpeedTableModel(layer, num_classes, hidden_dim)
        together = step_of(DistributedDataParallel(model))
        contestants[f"{layer}, 1 process"] = _after_all(alone)
        contestants[f"{layer}, {num_processes} processes"] = _after_all(together)
    timings = time_in_turn(contestants, repeats=repeats, device=CPU)
    if rank == 0:
        results.put(timings)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def _wait() -> None:
    pass


def _after_all(step: Callable[[], Any]) -> Callable[[], None]:
    """`step`, once all processes have come this far."""

    def run() -> None:
        torch.distributed.barrier()
        step()

    return run
