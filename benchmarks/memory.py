"""The memory that a training step takes, and the largest batch that fits."""

import gc
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

__all__ = ["MemoryUse", "memory_use"]

StepOf = Callable[[int], Callable[[], Any]]


@dataclass(frozen=True)
class MemoryUse:
    """
    # Parameters

    peaks : `Dict[int, int]`
        The bytes at the peak of a step, by the sentences in its batch.
    largest_batch : `int`
        The sentences that fit, on the line through the first and the last peak but the check's; 0
        if not even the model does.
    predicted_bytes, checked_bytes : `int`
        At the check's batch, on the line and as measured. `None` if there was no check, as the
        largest batch is no larger than those measured.
    """

    peaks: Dict[int, int]
    largest_batch: int
    predicted_bytes: Optional[int] = None
    checked_bytes: Optional[int] = None


def memory_use(
    build: Callable[..., StepOf],
    arguments: Sequence[Any],
    *,
    rehearsal: Sequence[Any],
    batch_sizes: Sequence[int],
    budget: float,
    device: torch.device,
    max_checked: Optional[int] = None,
) -> MemoryUse:
    """
    Takes training steps in a process of their own.

    On CUDA the bytes are those of the tensors, as `torch.cuda.max_memory_allocated` counts them. On
    a CPU they are what the process has in memory at its peak, less what it had before it built the
    model (Linux only): the tensors, and what the allocator and the kernels need around them. What
    libraries and compilers load at the first step is not among them.

    # Parameters

    build : `Callable[..., StepOf]`
        Called with the `arguments`, builds the model and returns what makes a step for a batch of
        so many sentences. A function of a module, so that another process finds it.
    arguments : `Sequence[Any]`
        Can be pickled.
    rehearsal : `Sequence[Any]`
        The arguments for a small model of the same kind, which takes a step before the measurement.
    batch_sizes : `Sequence[int]`
        At least two, rising.
    budget : `float`
        The bytes that a batch must fit into.
    device : `torch.device`
    max_checked : `int`, optional (default = `None`)
        The largest batch to try the line with.

    # Returns

    `MemoryUse`
    """
    # Forked from a process that is small and has done its imports, those of the first optimizer too.
    module = sys.modules[build.__module__].__spec__
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch._dynamo", "benchmarks.memory", *([module.name] if module else [])]
    )
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(
            _measure, build, arguments, rehearsal, list(batch_sizes), budget, device, max_checked
        ).result()


def _measure(
    build: Callable[..., StepOf],
    arguments: Sequence[Any],
    rehearsal: Sequence[Any],
    batch_sizes: List[int],
    budget: float,
    device: torch.device,
    max_checked: Optional[int],
) -> MemoryUse:
    build(*rehearsal)(batch_sizes[0])()
    gc.collect()
    base = _start(device)
    step_of = build(*arguments)
    # The first step leaves the optimizer's state behind.
    step_of(batch_sizes[0])()

    def peak_of(batch_size: int) -> int:
        step_of(batch_size)()
        return _peak(device) - base

    peaks = {size: peak_of(size) for size in batch_sizes}
    first, last = batch_sizes[0], batch_sizes[-1]
    # At tiny sizes nothing but noise is between the two.
    per_sentence = max((peaks[last] - peaks[first]) / (last - first), 1.0)
    fixed = peaks[last] - per_sentence * last
    largest = max(int((budget - fixed) // per_sentence), 0)
    check = largest if max_checked is None else min(largest, max_checked)
    if check <= last:
        return MemoryUse(peaks, largest)
    return MemoryUse(peaks, largest, round(fixed + per_sentence * check), peak_of(check))


def _start(device: torch.device) -> int:
    """The bytes in use, from which on the peak is watched."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        # Resets the peak of the resident memory: proc_pid_clear_refs(5).
        Path("/proc/self/clear_refs").write_text("5")
    return _peak(device)


def _peak(device: torch.device) -> int:
    """The most bytes in use since the start."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:", 1)[1].split(maxsplit=1)[0]) * 1024
