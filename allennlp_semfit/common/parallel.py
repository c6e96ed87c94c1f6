"""Worker processes, which return results in order and end with their parent, and threads."""

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from multiprocessing import connection, parent_process
from typing import Any, Callable, Deque, Generator, Iterable, List, Optional, Sequence, TypeVar

import torch

from allennlp_semfit.common.errors import ConfigurationError, check_bounds

Item = TypeVar("Item")
Result = TypeVar("Result")

_ITEMS_PER_WORKER = 4


def available_cpus() -> int:
    """The number of CPUs that this process, and the container it runs in, may use."""
    # Training installs it, but using a model does not.
    from joblib import cpu_count

    return cpu_count()


def number_of_workers(asked: Optional[int]) -> int:
    """The value of `--num-workers`, by default one for each CPU of `available_cpus`."""
    check_bounds({"--num-workers": asked}, at_least=1)
    return available_cpus() if asked is None else asked


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, num_workers: int
) -> Generator[Result, None, None]:
    """
    Like `multiprocessing.Pool.imap`, but for one worker it starts no process, it reads at most four
    items ahead for each worker, it raises the error of the first failed item, and it raises an
    error when a worker is killed instead of waiting forever. The workers run until the generator is
    closed, and complete the items that were read ahead: if items were cancelled and a worker
    killed, the pool would hang. Raises a `ConfigurationError` if a worker dies, and the errors of
    `items` and `function`.
    """
    if num_workers <= 1:
        yield from map(function, items)
        return
    pending: Deque[Future[Result]] = deque()
    pool = ProcessPoolExecutor(num_workers, initializer=initialize_worker)
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) >= num_workers * _ITEMS_PER_WORKER:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise ConfigurationError(
            "A worker process died, most likely for lack of memory: use fewer workers "
            f"(--num-workers is {num_workers})."
        ) from error
    finally:
        # A second Ctrl-C while Python 3.11 waits for the pool's thread would make it forget the
        # thread, and wait for the workers forever at exit.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            pool.shutdown()
        finally:
            # Another thread may receive the signal, which then raises its error here.
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@cache
def use_one_thread_in_forks() -> None:
    """
    Makes PyTorch use one thread in forked processes: the other threads do not survive a fork, and
    PyTorch would wait for them forever.
    """
    # Windows does not fork.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


def initialize_worker() -> None:
    """
    Makes this process ignore Ctrl-C, end on SIGTERM and when its parent process ends, and use one
    thread, as `use_one_thread_in_forks` does.
    """
    # The terminal sends SIGINT to all processes, but only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def run_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> List[Result]:
    """
    Applies a function to each item, without gradients, and returns the results. If PyTorch uses
    several threads, each item gets an equal share of them: if all threads shared every small
    operation, they would wait for each other most of the time.
    """
    num_threads = torch.get_num_threads()
    if len(items) == 1 or num_threads == 1:
        with torch.no_grad():
            return [function(item) for item in items]
    # The threads of the pool do not inherit inference mode.
    is_inference = torch.is_inference_mode_enabled()
    pool = _thread_pool(os.getpid(), len(items), max(1, num_threads // len(items)))

    def run(item: Item) -> Result:
        with torch.inference_mode(is_inference), torch.no_grad():
            return function(item)

    return list(pool.map(run, items))


@cache
def _thread_pool(process_id: int, num_workers: int, num_threads: int) -> ThreadPoolExecutor:
    # `process_id` gives each process its own pool, because threads do not survive a fork.
    before = torch.get_num_threads()
    started = threading.Barrier(num_workers)

    def wait(_: Any) -> None:
        torch.set_num_threads(num_threads)
        # Otherwise the first operation in this thread would take the number that was set last.
        torch.get_num_threads()
        started.wait()

    pool = ThreadPoolExecutor(num_workers, "contextualizer")
    try:
        # The pool starts a thread only if all others are busy, so each waits for the last.
        list(pool.map(wait, range(num_workers)))
    finally:
        torch.set_num_threads(before)
    return pool
