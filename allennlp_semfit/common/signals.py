import signal
import threading
from contextlib import contextmanager
from types import FrameType
from typing import Iterator, List, Optional


@contextmanager
def delayed_signals() -> Iterator[None]:
    """
    A context manager that delays SIGINT and SIGTERM to the end of the block, so that they do not
    interrupt the removal of files. Blocks can be nested.
    """
    received: List[int] = []

    def handle(number: int, _: Optional[FrameType]) -> None:
        received.append(number)

    is_main = threading.current_thread() is threading.main_thread()
    handlers = {
        number: signal.signal(number, handle)
        for number in (signal.SIGINT, signal.SIGTERM)
        if is_main and callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for restored, handler in handlers.items():
            signal.signal(restored, handler)
        for number in received:
            signal.raise_signal(number)
