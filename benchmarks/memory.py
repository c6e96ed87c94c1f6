"""The memory that a training step takes, and the largest batch that fits."""

import ctypes
import gc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch

from benchmarks.processes import process_context

__all__ = ["MemoryUse", "memory_use"]

StepOf = Callable[[int], Callable[[], Any]]


@dataclass(frozen=True)
class MemoryUse:
    """
    # Parameters

    peaks : `Dict[int, int]`
        The bytes at the peak of a step, by the sentences in its batch.
    fixed_bytes, bytes_per_sentence : `float`
        The line through the first two of the peaks.
    largest_batch : `int`
        The sentences that fit according to the line; 0 if not even the model does.
    """

    peaks: Dict[int, int]
    fixed_bytes: float
    bytes_per_sentence: float
    largest_batch: int


def memory_use(
    build: Callable[..., StepOf],
    arguments: Sequence[Any],
    *,
    warmup: Sequence[Any],
    batch_sizes: Tuple[int, int],
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
    warmup : `Sequence[Any]`
        The arguments for a small model of the same kind, which takes a step before the measurement.
    batch_sizes : `Tuple[int, int]`
        Those to draw the line through, rising.
    budget : `float`
        The bytes that a batch must fit into.
    device : `torch.device`
    max_checked : `int`, optional (default = `None`)
        The line is tried with the largest batch that it gives, or this if it is smaller.

    # Returns

    `MemoryUse`
    """
    with ProcessPoolExecutor(1, process_context()) as pool:
        return pool.submit(
            _measure, build, arguments, warmup, batch_sizes, budget, device, max_checked
        ).result()


def _measure(
    build: Callable[..., StepOf],
    arguments: Sequence[Any],
    warmup: Sequence[Any],
    batch_sizes: Tuple[int, int],
    budget: float,
    device: torch.device,
    max_checked: Optional[int],
) -> MemoryUse:
    build(*warmup)(batch_sizes[0])()
    base = _start(device)
    step_of = build(*arguments)
    # The first step leaves the optimizer's state behind.
    step_of(batch_sizes[0])()

    def peak_of(batch_size: int) -> int:
        _give_back()
        step_of(batch_size)()
        return _peak(device) - base

    small, large = batch_sizes
    peaks = {size: peak_of(size) for size in batch_sizes}
    # At tiny sizes nothing but noise is between the two.
    per_sentence = max((peaks[large] - peaks[small]) / (large - small), 1.0)
    fixed = peaks[large] - per_sentence * large
    largest = max(int((budget - fixed) // per_sentence), 0)
    check = largest if max_checked is None else min(largest, max_checked)
    if check > large:
        peaks[check] = peak_of(check)
    return MemoryUse(peaks, fixed, per_sentence, largest)


def _give_back() -> None:
    """Has glibc give back the freed memory that it keeps for batches of the last one's size."""
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)


def _start(device: torch.device) -> int:
    """The bytes in use, from which on the peak is watched."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        _give_back()
        # Resets the peak of the resident memory: proc_pid_clear_refs(5).
        Path("/proc/self/clear_refs").write_text("5")
    return _peak(device)


def _peak(device: torch.device) -> int:
    """The most bytes in use since the start."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:", 1)[1].split(maxsplit=1)[0]) * 1024
