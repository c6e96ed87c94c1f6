"""Measures the peak memory of a training step, and extrapolates the largest batch that fits."""

import ctypes
import gc
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch

MakeStep = Callable[[int], Callable[[], Any]]


# The peak memory of a step in bytes, by the number of sentences in its batch, and the number of
# sentences that fit into the budget, extrapolated from the first two; 0 if the model does not fit.
PeakMemory = Tuple[Dict[int, int], int]


def import_in_fork_server() -> None:
    """
    Makes the fork server import what all measurements need. For commands only: a process has one
    fork server, and that of the tests imports something else.
    """
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["torch._dynamo", "benchmarks.heads", "benchmarks.models"]
    )


def measure_peak_memory(*args: Any, **kwargs: Any) -> PeakMemory:
    """`_measure` in a separate process."""
    # A fork server starts processes quickly and with little memory. If its imports use the GPU, its
    # forks cannot.
    method = "forkserver" if kwargs["device"].type == "cpu" else "spawn"
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        return pool.submit(_measure, *args, **kwargs).result()


def _measure(
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
    Runs training steps of two batch sizes, ascending, and of the largest batch within `budget`, in
    bytes, but at most `max_checked`. `build` builds the model from `arguments` and returns
    a function from the number of sentences in a batch to a training step.

    On CUDA this is `torch.cuda.max_memory_reserved`, which includes CUDA graphs. On a CPU it is the
    peak resident set size less the resident set size before the model was built (Linux only). A
    step with a small model, from the arguments `warmup`, excludes what libraries and compilers load
    at the first step.
    """
    build(*warmup)(batch_sizes[0])()
    base = _reset_peak(device)
    make_step = build(*arguments)
    # The first step allocates the state of the optimizer.
    make_step(batch_sizes[0])()

    def peak_of(batch_size: int) -> int:
        _trim_heap()
        if device.type == "cuda":
            # CUDA graphs are captured in the second step, while those of smaller batches exist.
            make_step(batch_size)()
            make_step(batch_size)()
            _reset_peak(device)
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
    return peaks, largest


def _trim_heap() -> None:
    """Makes glibc return freed memory to the system."""
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)


def _reset_peak(device: torch.device) -> int:
    """Resets the peak and returns the bytes in use."""
    _trim_heap()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    else:
        # Resets the peak of the resident memory: proc_pid_clear_refs(5).
        Path("/proc/self/clear_refs").write_text("5")
    return _peak(device)


def _peak(device: torch.device) -> int:
    """The peak since the last reset, in bytes."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:", 1)[1].split(maxsplit=1)[0]) * 1024
