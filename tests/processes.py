"""
Processes that tests start.

Commands run in processes of their own, as a user runs them, but without waiting for the imports: a
server process imports AllenNLP and this package once, and forks for each command. Data loaders'
workers with the start method "forkserver" come from it too. Like "spawn", it pickles their input.
"""

import logging
import multiprocessing
import os
import resource
import runpy
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import RLock
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.common.testing.distributed_test import init_process
from allennlp.common.util import find_open_port
from torch.multiprocessing import start_processes

PROC = Path("/proc")
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preload"])


def start_module(module: str, *args: Any, output: Path) -> BaseProcess:
    """Starts `python -m MODULE ARGS`. Its stdout and stderr go to the file `output`."""
    arguments = (module, [str(arg) for arg in args], str(output), os.getcwd())
    process = _CONTEXT.Process(target=_run, args=arguments)
    process.start()
    return process


def _run(module: str, args: List[str], output: str, directory: str) -> None:
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    sys.stdout, sys.stderr = (os.fdopen(standard, "w", buffering=1) for standard in (1, 2))
    logging.root.handlers.clear()
    # As in a separate process. Another fork server would import everything again.
    multiprocessing.set_start_method("fork", force=True)
    os.chdir(directory)
    sys.path.insert(0, directory)
    sys.argv = [module, *args]
    code: Any = 0
    try:
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit:
            raise
        except BaseException:
            code = 1
            sys.excepthook(*sys.exc_info())
    except SystemExit as error:
        code = error.code
    if isinstance(code, str):
        print(code, file=sys.stderr)  # noqa: T201 (as Python does)
    # multiprocessing would print a string. Exiting here ends the child processes, as in Python.
    sys.exit(code if isinstance(code, int) else int(code is not None))


def run_in_two_processes(function: Callable, *args: Any) -> None:
    """
    Like AllenNLP's `run_distributed_test`, but on a free port, because two test runs on one machine
    would share its fixed one. The processes are forks of the fork server, because the threads that
    PyTorch has started in this process do not survive a fork.
    """
    start_processes(
        init_process,
        args=(2, [-1, -1], function, args, {}, "127.0.0.1", find_open_port()),
        nprocs=2,
        start_method="forkserver",
    )


def fork(function: Callable, *args: Any, **kwargs: Any) -> BaseProcess:
    """Starts a fork of this process, which a test may kill."""
    process = multiprocessing.get_context("fork").Process(
        target=_run_fork, args=(function, args, kwargs)
    )
    process.start()
    return process


def _run_fork(function: Callable, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
    # All forks share the lock of tqdm's bars, which a killed fork would not release.
    Tqdm.set_lock(RLock())
    function(*args, **kwargs)


def error_in_fork(
    function: Callable, *args: Any, max_file_size: Optional[int] = None, **kwargs: Any
) -> str:
    """
    Calls a function in a forked process, which must end by itself, and returns the message of the
    `ConfigurationError` that it raises. With `max_file_size`, in bytes, writing fails as on a full
    disk.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def call() -> None:
        if max_file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_size, max_file_size))
        try:
            function(*args, **kwargs)
        except ConfigurationError as error:
            sender.send(str(error))

    process = context.Process(target=call)
    process.start()
    process.join()
    assert process.exitcode == 0
    return str(receiver.recv()) if receiver.poll() else ""


def threads_in_a_fork(function: Callable, *args: Any) -> int:
    """
    The number of PyTorch's threads in a fork of a process that has two threads and has called a
    function. That process is not a fork of this one, where conftest.py sets the number.
    """
    with ProcessPoolExecutor(1, _CONTEXT) as pool:
        return pool.submit(_threads_in_a_fork, function, args).result()


def _threads_in_a_fork(function: Callable, args: Tuple[Any, ...]) -> int:
    torch.set_num_threads(2)
    function(*args)
    child = os.fork()
    if child == 0:
        os._exit(torch.get_num_threads())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def wait_until(condition: Callable[[], bool]) -> None:
    """Fails after five minutes, longer than a busy machine takes."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether a process is running, or any process of a group if the number is negative."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # An ended process is a zombie until its parent waits for it, which may be late.
    found = [fields for fields in map(_fields_of, PROC.glob("[0-9]*/stat")) if fields]
    if not found:
        return True
    return any(state != "Z" and process in (pid, -group) for pid, state, group in found)


def _fields_of(stat: Path) -> Optional[Tuple[int, str, int]]:
    """The number, the state and the group of a process."""
    try:
        pid, _, rest = stat.read_text("utf-8", "replace").partition(" (")
    except OSError:  # It has ended by now.
        return None
    state, _, group = rest.rpartition(") ")[2].split()[:3]
    return int(pid), state, int(group)
