"""Processes that tests start."""

import os
import time
from pathlib import Path
from typing import Any, Callable, Optional, Tuple

from allennlp.common.testing.distributed_test import init_process
from allennlp.common.util import find_open_port
from torch.multiprocessing import start_processes

PROC = Path("/proc")


def run_in_two_processes(function: Callable, *args: Any) -> None:
    """
    What AllenNLP's `run_distributed_test` does, but on a free port: that has one port for all, and
    two runs of the tests on one machine would meet there.
    """
    start_processes(
        init_process,
        args=(2, [-1, -1], function, args, {}, "127.0.0.1", find_open_port()),
        nprocs=2,
        start_method="fork",
    )


def wait_until(condition: Callable[[], bool]) -> None:
    """Gives up only after longer than a busy machine takes."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether there is such a process, or such a group if the number is negative."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # One that has ended stays in the table until its parent asks how, which init need not do soon.
    found = [fields for fields in map(_fields_of, PROC.glob("[0-9]*/stat")) if fields]
    if not found:
        return True
    return any(state != "Z" and process in (pid, -group) for pid, state, group in found)


def _fields_of(stat: Path) -> Optional[Tuple[int, str, int]]:
    """A process's number, its state and its group."""
    try:
        pid, _, rest = stat.read_text("utf-8", "replace").partition(" (")
    except OSError:  # It has ended by now.
        return None
    state, _, group = rest.rpartition(") ")[2].split()[:3]
    return int(pid), state, int(group)
