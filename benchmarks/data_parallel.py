"""A model's training step in one process, and in several that exchange their gradients."""

import os
import tempfile
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.nn.parallel import DistributedDataParallel

from benchmarks.heads import SpeedTableModel, training_step
from benchmarks.processes import process_context
from benchmarks.timing import Timings, time_in_turn

__all__ = ["time_processes"]

CPU = torch.device("cpu")

# Layers, words in the vocabulary, units of the LSTM, sentences, words of a sentence.
Sizes = Tuple[Sequence[str], int, int, int, int]


def time_processes(sizes: Sizes, *, num_processes: int, repeats: int) -> Timings:
    """
    # Parameters

    sizes : `Tuple[Sequence[str], int, int, int, int]`
        The output layers, and as in `SpeedTableModel`; then the sentences in the batch of each
        process, and the words in a sentence.

    # Returns

    `Timings`
        Of each layer, "…, 1 process" and "…, N processes". Each process has one thread.
    """
    candidates: Dict[str, Callable[[], None]] = {}
    with ExitStack() as stack:
        meeting_point = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "processes"
        # The one that works alone is in no group: what else a layer exchanges, it need not.
        alone = [_start(stack, sizes, None, 1, meeting_point)]
        crew = [
            _start(stack, sizes, rank, num_processes, meeting_point)
            for rank in range(num_processes)
        ]
        for layer in sizes[0]:
            candidates[f"{layer}, 1 process"] = partial(_step, alone, layer)
            candidates[f"{layer}, {num_processes} processes"] = partial(_step, crew, layer)
        return time_in_turn(candidates, repeats=repeats, device=CPU)


def _start(
    stack: ExitStack, sizes: Sizes, rank: Optional[int], num_processes: int, meeting_point: Path
) -> Connection:
    """The connection to a process that takes a step of each layer it is sent the name of."""
    context = process_context()
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_work, args=(theirs, sizes, rank, num_processes, f"file://{meeting_point}")
    )
    process.start()
    theirs.close()
    # When its connection closes, the process ends; one that waits for another is ended.
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


def _work(
    connection: Connection,
    sizes: Sizes,
    rank: Optional[int],
    num_processes: int,
    meeting_point: str,
) -> None:
    layers, num_classes, hidden_dim, batch_size, num_words = sizes
    torch.set_num_threads(1)
    if rank is not None:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        torch.distributed.init_process_group(
            "gloo", init_method=meeting_point, rank=rank, world_size=num_processes
        )
    steps: Dict[str, Callable[[], None]] = {}
    for layer in layers:
        model: torch.nn.Module = SpeedTableModel(layer, num_classes, hidden_dim)
        if rank is not None:
            model = DistributedDataParallel(model)
        steps[layer] = training_step(model, layer, num_classes, num_words, CPU)(batch_size)
    while True:
        try:
            layer = connection.recv()
        except EOFError:
            return
        steps[layer]()
        connection.send(None)
