"""Child processes with bounded memory and time."""

import logging
import multiprocessing
import os
import resource
import runpy
import select
import signal
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional

from tests.processes import is_running

__all__ = ["Child", "Ended", "allennlp"]

_GRACE_SECONDS = 10


class Ended(NamedTuple):
    """
    # Parameters

    code : `int`
        The exit code, or the negative number of a signal.
    output : `str`
        What it wrote to stdout and stderr.
    hung : `bool`
        Whether it used up its time.
    orphaned : `bool`
        Whether it left processes that had to be killed.
    """

    code: int
    output: str
    hung: bool
    orphaned: bool

    @property
    def last_line(self) -> str:
        return (self.output.strip().splitlines() or [""])[-1]


class Child:
    """
    A fork of this process, in a group of its own, which the end of a `with` statement kills. Needs
    Linux.

    # Parameters

    function : `Callable[[], Any]`
        What it runs. It may raise `SystemExit`, as a script may.
    memory : `int`, optional (default = `None`)
        The bytes that it may allocate, besides those of this process.
    cpu_seconds : `int`, optional (default = `None`)
        What it may use of the processor.
    file_size : `int`, optional (default = `None`)
        The maximum size of the files that it writes, in bytes. It gets an error beyond that.
    """

    def __init__(
        self,
        function: Callable[[], Any],
        *,
        memory: Optional[int] = None,
        cpu_seconds: Optional[int] = None,
        file_size: Optional[int] = None,
    ) -> None:
        limits = {
            resource.RLIMIT_CORE: 0,
            # Not the address space, of which libraries reserve far more than they use.
            resource.RLIMIT_DATA: memory and memory + _allocated(),
            resource.RLIMIT_CPU: cpu_seconds,
            resource.RLIMIT_FSIZE: file_size,
        }
        # A file would be subject to `file_size`.
        self._read, write = os.pipe()
        self._output = b""
        self._started = time.monotonic()
        self._process = _CONTEXT.Process(target=_run, args=(function, write, limits))
        self._process.start()
        os.close(write)
        self.pid: int = self._process.pid or 0
        # Not the process's sentinel, which also waits for what inherits its descriptors.
        self._ending = os.pidfd_open(self.pid)
        self._stack = ExitStack()
        self._stack.callback(os.close, self._read)
        self._stack.callback(os.close, self._ending)
        self._stack.callback(self._kill)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            # It may not have its group yet.
            self.send(signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.join()

    def send(self, number: int) -> None:
        """Sends a signal, if it still runs."""
        signal.pidfd_send_signal(self._ending, number)

    def wait(self, seconds: float) -> bool:
        """Returns whether it has ended, after this time at the latest."""
        deadline = time.monotonic() + seconds
        sources = [self._read, self._ending]
        while True:
            left = max(deadline - time.monotonic(), 0)
            ready = select.select(sources, [], [], left)[0]
            if self._read in ready:
                chunk = os.read(self._read, 2**16)
                self._output += chunk
                if not chunk:
                    sources.remove(self._read)
            elif ready or not left:
                return bool(ready)

    def end(self, seconds: float) -> Ended:
        """
        Waits for its end and that of all processes that it has started, and kills them if it has
        not ended so many seconds after its start.
        """
        with self:
            hung = not self.wait(self._started + seconds - time.monotonic())
            if hung:
                self.send(signal.SIGKILL)
                self.wait(_GRACE_SECONDS)
            self._process.join()
            code = self._process.exitcode or 0
            deadline = time.monotonic() + _GRACE_SECONDS
            while not hung and is_running(-self.pid) and time.monotonic() < deadline:
                time.sleep(0.02)
            orphaned = not hung and is_running(-self.pid)
        hung = hung or code == -signal.SIGXCPU
        return Ended(code, self._output.decode("utf-8", "replace"), hung, orphaned)


_CONTEXT = multiprocessing.get_context("fork")


def _run(function: Callable[[], Any], output: int, limits: Dict[int, Optional[int]]) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Writing more than `file_size` is an error instead.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    # A child of a child drops the files that this one opens here.
    sys.stdout, sys.stderr = (
        os.fdopen(standard, "w", buffering=1, closefd=False) for standard in (1, 2)
    )
    logging.root.handlers.clear()
    for what, limit in limits.items():
        if limit is not None:
            # At the hard limit of the processor time, Linux would kill it without SIGXCPU.
            resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))
    try:
        function()
    except KeyboardInterrupt as error:
        # As Python ends a script. `multiprocessing` would end it with 1.
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(128 + signal.SIGINT)


def _allocated() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmData:", 1)[1].split(maxsplit=1)[0])


def allennlp(*arguments: str) -> None:
    """Runs an `allennlp` command in this process, a child."""
    sys.argv = ["allennlp", *arguments]
    runpy.run_module("allennlp", run_name="__main__", alter_sys=True)
