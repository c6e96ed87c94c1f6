"""Measures the peak memory of a training step, and extrapolates the largest batch that fits."""

import ctypes
import gc
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch

__all__ = ["PeakMemory", "import_in_fork_server", "measure_peak_memory"]

MakeStep = Callable[[int], Callable[[], Any]]


@dataclass(frozen=True)
class PeakMemory:
    """
    # Parameters

    peaks : `Dict[int, int]`
        The peak memory of a step in bytes, by the number of sentences in its batch.
    fixed_bytes, bytes_per_sentence : `float`
        The line through the first two peaks.
    largest_batch : `int`
        The number of sentences that fit according to the line; 0 if the model does not fit.
    """

    peaks: Dict[int, int]
    fixed_bytes: float
    bytes_per_sentence: float
    largest_batch: int


def import_in_fork_server() -> None:
    """
    Lets the fork server import what all measurements need. For commands only: a process has one
    fork server, and that of the tests imports something else.
    """
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["torch._dynamo", "benchmarks.heads", "benchmarks.language_models"]
    )


def measure_peak_memory(
    build: Callable[..., MakeStep],
    arguments: Sequence[Any],
    *,
    warmup: Sequence[Any],
    batch_sizes: Tuple[int, int],
    budget: float,
    device: torch.device,
    max_checked: Optional[int] = None,
) -> PeakMemory:
    """
    Runs training steps in a separate process.

    On CUDA this is `torch.cuda.max_memory_allocated`. On a CPU it is the peak resident set size
    less the resident set size before the model was built (Linux only). A warm-up step with a small
    model excludes what libraries and compilers load at the first step.

    # Parameters

    build : `Callable[..., MakeStep]`
        Builds the model from the `arguments` and returns a function from the number of sentences in
        a batch to a training step. Must be picklable.
    arguments : `Sequence[Any]`
        Must be picklable.
    warmup : `Sequence[Any]`
        The arguments for the small model of the warm-up step.
    batch_sizes : `Tuple[int, int]`
        The batch sizes of the first two peaks, ascending.
    budget : `float`
        The memory for the largest batch, in bytes.
    device : `torch.device`
    max_checked : `int`, optional (default = `None`)
        The largest batch is measured too, but with at most this number of sentences.

    # Returns

    `PeakMemory`
    """
    # A fork server starts processes quickly and with little memory; Linux and macOS only.
    with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as pool:
        return pool.submit(
            _measure, build, arguments, warmup, batch_sizes, budget, device, max_checked
        ).result()


def _measure(
    build: Callable[..., MakeStep],
    arguments: Sequence[Any],
    warmup: Sequence[Any],
    batch_sizes: Tuple[int, int],
    budget: float,
    device: torch.device,
    max_checked: Optional[int],
) -> PeakMemory:
    build(*warmup)(batch_sizes[0])()
    base = _reset_peak(device)
    make_step = build(*arguments)
    # The first step allocates the state of the optimizer.
    make_step(batch_sizes[0])()

    def peak_of(batch_size: int) -> int:
        _trim_heap()
        make_step(batch_size)()
        return _peak(device) - base

    small, large = batch_sizes
    peaks = {size: peak_of(size) for size in batch_sizes}
    # With tiny models the difference is noise.
    per_sentence = max((peaks[large] - peaks[small]) / (large - small), 1.0)
    fixed = peaks[large] - per_sentence * large
    largest = max(int((budget - fixed) // per_sentence), 0)
    check = largest if max_checked is None else min(largest, max_checked)
    if check > large:
        peaks[check] = peak_of(check)
    return PeakMemory(peaks, fixed, per_sentence, largest)


def _trim_heap() -> None:
    """Makes glibc return freed memory to the system."""
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)


def _reset_peak(device: torch.device) -> int:
    """Resets the peak and returns the bytes in use."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        _trim_heap()
        # Resets the peak of the resident memory: proc_pid_clear_refs(5).
        Path("/proc/self/clear_refs").write_text("5")
    return _peak(device)


def _peak(device: torch.device) -> int:
    """The peak since the last reset, in bytes."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:", 1)[1].split(maxsplit=1)[0]) * 1024
