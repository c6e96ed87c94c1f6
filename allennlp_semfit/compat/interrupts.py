"""How AllenNLP's commands end on SIGTERM and Ctrl-C."""

import os
import signal
import sys
import time
from functools import partial
from multiprocessing import active_children
from types import TracebackType
from typing import Any, Callable, Optional, Type

# How long the processes of a distributed training may take to make an archive.
_GRACE_SECONDS = 60


class SigTermReceived(KeyboardInterrupt):
    """
    Replaces AllenNLP's exception for SIGTERM, which is a subclass of `Exception`: it has no effect
    where those are handled, such as in a method of `logging`.
    """


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """The exit code of a command that was interrupted, as shells define it."""
    number = signal.SIGTERM if isinstance(interrupt, SigTermReceived) else signal.SIGINT
    return 128 + number


def prepare_global_logging(prepare: Callable, *args: Any, **kwargs: Any) -> None:
    prepare(*args, **kwargs)
    # The function has set a hook.
    _set_hook()


def _set_hook() -> None:
    if getattr(sys.excepthook, "func", None) is not _handle_uncaught:
        sys.excepthook = partial(_handle_uncaught, sys.excepthook)


def _handle_uncaught(
    hook: Callable,
    kind: Type[BaseException],
    error: BaseException,
    traceback: Optional[TracebackType],
) -> None:
    if not isinstance(error, KeyboardInterrupt):
        hook(kind, error, traceback)
        return
    sys.stderr.write("allennlp: interrupted; --recover resumes\n")
    raise SystemExit(exit_code(error))


def train_model(train: Callable, *args: Any, **kwargs: Any) -> Any:
    _set_hook()
    others = active_children()
    try:
        return train(*args, **kwargs)
    except KeyboardInterrupt as error:
        # Python ends the loaders' workers, which are daemons, but waits until the processes of a
        # distributed training have finished it.
        processes = [p for p in active_children() if p not in others and not p.daemon]
        if isinstance(error, SigTermReceived):
            # Ctrl-C is sent to all processes, SIGTERM to one.
            for process in processes:
                os.kill(process.pid or 0, signal.SIGINT)
        deadline = time.monotonic() + _GRACE_SECONDS
        for process in processes:
            process.join(max(0, deadline - time.monotonic()))
            process.kill()
        raise
