import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Callable, List, Sequence, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def run_in_threads(function: Callable[[T], R], items: Sequence[T]) -> List[R]:
    """
    Applies a function to each item, without gradients, and returns the results. If PyTorch has
    several threads, each item has a thread and its share of them: threads that each do a part of
    every small operation would wait for each other most of the time.
    """
    num_threads = torch.get_num_threads()
    if len(items) == 1 or num_threads == 1:
        with torch.no_grad():
            return [function(item) for item in items]
    # These modes are set for a thread, so they do not reach the pool by themselves.
    is_inference = torch.is_inference_mode_enabled()
    pool = _pool(os.getpid(), len(items), max(1, num_threads // len(items)))

    def run(item: T) -> R:
        with torch.inference_mode(is_inference), torch.no_grad():
            return function(item)

    return list(pool.map(run, items))


@cache
def _pool(process_id: int, num_workers: int, num_threads: int) -> ThreadPoolExecutor:
    # Each process has its own, because threads do not survive a fork.
    before = torch.get_num_threads()
    started = threading.Barrier(num_workers)

    def wait(_: Any) -> None:
        torch.set_num_threads(num_threads)
        # The first call in a thread sets the number that was set last, in any thread.
        torch.get_num_threads()
        started.wait()

    pool = ThreadPoolExecutor(num_workers, "contextualizer")
    try:
        # It starts a thread only when all others are at work.
        list(pool.map(wait, range(num_workers)))
    except BaseException:
        # Those that have started would wait for the others forever, and the process for them.
        started.abort()
        raise
    finally:
        torch.set_num_threads(before)
    return pool
