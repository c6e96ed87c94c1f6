"""Worker processes that end with the one that began them, and whose results come in order."""

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, parent_process
from typing import Any, Callable, Deque, Generator, Iterable, Optional, Tuple, TypeVar

from allennlp.common.checks import ConfigurationError

__all__ = ["available_cpus", "ordered_map"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cpus() -> int:
    """
    # Returns

    `int`
        CPUs that this process may use.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    num_workers: int,
    items_per_worker: int,
    set_up: Optional[Callable[..., None]] = None,
    arguments: Tuple[Any, ...] = (),
) -> Generator[Result, None, None]:
    """
    Like `Pool.imap`, except that it reads only a few items ahead, that of several errors the first
    item's is raised, and that a worker which is killed is an error rather than a wait without end.
    The workers run until the generator is closed.

    # Parameters

    function : `Callable[[Item], Result]`
    items : `Iterable[Item]`
    num_workers : `int`
    items_per_worker : `int`
        How many items are taken, for each worker, before the first result is handed out.
    set_up : `Callable[..., None]`, optional (default = `None`)
        Called in each worker before its first item.
    arguments : `Tuple[Any, ...]`, optional (default = `()`)
        Those of `set_up`.

    # Returns

    `Generator[Result, None, None]`
        One for each item, in their order.

    # Raises

    `ConfigurationError`
        When a worker dies, and whatever reading the items or `function` raises.
    """
    pending: Deque[Future[Result]] = deque()
    with ProcessPoolExecutor(num_workers, initializer=_start, initargs=(set_up, arguments)) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) >= num_workers * items_per_worker:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool as error:
            remedy = "take fewer workers" if num_workers > 1 else "take less data"
            raise ConfigurationError(
                f"A worker process died, most likely for lack of memory: {remedy} "
                f"(num_workers is {num_workers})."
            ) from error
        finally:
            for future in pending:
                future.cancel()


def _start(set_up: Optional[Callable[..., None]], arguments: Tuple[Any, ...]) -> None:
    # Ctrl-C reaches every process: the parent ends the work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if set_up is not None:
        set_up(*arguments)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
