"""Times a training step in one process and in several with `DistributedDataParallel`."""

import os
import tempfile
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.nn.parallel import DistributedDataParallel

from benchmarks.forkserver import forkserver_context
from benchmarks.heads import SpeedTableModel, training_step
from benchmarks.timing import Timings, time_interleaved

__all__ = ["time_processes"]

CPU = torch.device("cpu")

# Output layers, vocabulary size, hidden size, sentences per batch, words per sentence.
Sizes = Tuple[Sequence[str], int, int, int, int]


def time_processes(sizes: Sizes, *, num_processes: int, repeats: int) -> Timings:
    """
    # Parameters

    sizes : `Tuple[Sequence[str], int, int, int, int]`
        The output layers, the vocabulary size and the hidden size as in `SpeedTableModel`, the
        sentences per batch of each process and the words per sentence.

    # Returns

    `Timings`
        `"LAYER, 1 process"` and `"LAYER, N processes"` for each layer. Each process has one thread.
    """
    candidates: Dict[str, Callable[[], None]] = {}
    with ExitStack() as stack:
        rendezvous = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "processes"
        # The single process has no process group.
        single = [_start(stack, sizes, None, 1, rendezvous)]
        workers = [
            _start(stack, sizes, rank, num_processes, rendezvous) for rank in range(num_processes)
        ]
        for layer in sizes[0]:
            candidates[f"{layer}, 1 process"] = partial(_step, single, layer)
            candidates[f"{layer}, {num_processes} processes"] = partial(_step, workers, layer)
        return time_interleaved(candidates, repeats=repeats, device=CPU)


def _start(
    stack: ExitStack, sizes: Sizes, rank: Optional[int], num_processes: int, rendezvous: Path
) -> Connection:
    """The connection to a process that runs a step of a layer on receiving its name."""
    context = forkserver_context()
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_run_worker, args=(theirs, sizes, rank, num_processes, f"file://{rendezvous}")
    )
    process.start()
    theirs.close()
    # The process ends when its connection closes. A process that waits for another is terminated.
    stack.callback(process.join)
    stack.callback(process.terminate)
    stack.enter_context(ours)
    return ours


def _step(connections: List[Connection], layer: str) -> None:
    try:
        for connection in connections:
            connection.send(layer)
        for connection in connections:
            connection.recv()
    except (EOFError, OSError):
        raise RuntimeError("A process failed; its error is above.") from None


def _run_worker(
    connection: Connection,
    sizes: Sizes,
    rank: Optional[int],
    num_processes: int,
    rendezvous: str,
) -> None:
    layers, num_classes, hidden_dim, batch_size, num_words = sizes
    torch.set_num_threads(1)
    if rank is not None:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        torch.distributed.init_process_group(
            "gloo", init_method=rendezvous, rank=rank, world_size=num_processes
        )
    steps: Dict[str, Callable[[], None]] = {}
    for layer in layers:
        model = SpeedTableModel(layer, num_classes, hidden_dim)
        replica = model if rank is None else DistributedDataParallel(model)
        steps[layer] = training_step(replica, model.head, num_classes, num_words, CPU)(batch_size)
    while True:
        try:
            layer = connection.recv()
        except EOFError:
            return
        steps[layer]()
        connection.send(None)
