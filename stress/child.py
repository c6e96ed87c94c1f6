"""Child processes with bounded memory and time."""

import os
import resource
import select
import signal
import time
from contextlib import suppress
from functools import partial
from multiprocessing import util
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional

from tests.processes import is_running, run_and_exit, run_as_main

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
    A fork of this process, which must have no other threads that matter. Needs Linux.

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
        # A file would be subject to `file_size`.
        self._read, write = os.pipe()
        self._output = b""
        self._started = time.monotonic()
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            for number, handler in _DEFAULT_HANDLERS.items():
                signal.signal(number, handler)
            limits = {
                resource.RLIMIT_CORE: 0,
                # Not the address space, of which libraries reserve far more than they use.
                resource.RLIMIT_DATA: memory and memory + _allocated(),
                resource.RLIMIT_CPU: cpu_seconds,
                resource.RLIMIT_FSIZE: file_size,
            }
            for what, limit in limits.items():
                if limit is not None:
                    resource.setrlimit(what, (limit, limit))
            run_and_exit(partial(_run_to_the_end, function), write)
        os.close(write)
        self._ending = os.pidfd_open(self.pid)

    def send(self, number: int) -> None:
        """Sends a signal, if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

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
        """Waits for its end and that of all processes that it has started."""
        hung = not self.wait(max(self._started + seconds - time.monotonic(), 0))
        if hung:
            self.send(signal.SIGKILL)
            self.wait(_GRACE_SECONDS)
        _, status = os.waitpid(self.pid, 0)
        deadline = time.monotonic() + _GRACE_SECONDS
        while not hung and is_running(-self.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        orphaned = not hung and is_running(-self.pid)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self._read)
        os.close(self._ending)
        code = os.waitstatus_to_exitcode(status)
        hung = hung or code == -signal.SIGXCPU
        return Ended(code, self._output.decode("utf-8", "replace"), hung, orphaned)


_DEFAULT_HANDLERS: Dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGXCPU: signal.SIG_DFL,
}


def _run_to_the_end(function: Callable[[], Any]) -> None:
    try:
        function()
    finally:
        # Ends worker processes, as at the end of a script. Not `atexit`, which would remove the
        # temporary files of the parent too.
        util._exit_function()  # type: ignore[attr-defined]


def _allocated() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmData:", 1)[1].split(maxsplit=1)[0])


def allennlp(*arguments: str) -> None:
    """Runs an `allennlp` command in this process, a child."""
    run_as_main("allennlp", [str(argument) for argument in arguments])
