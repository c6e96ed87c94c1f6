import logging
import os
import signal
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, List

from allennlp.data.data_loaders import DataLoader, MultiProcessDataLoader

__all__ = ["WatchedDataLoader"]

logger = logging.getLogger(__name__)


@DataLoader.register("watched")
class WatchedDataLoader(MultiProcessDataLoader):
    """
    AllenNLP's `multiprocess` data loader, with an end if one of its workers is killed, usually for
    lack of memory. AllenNLP would wait for the worker forever. Here, the log says what happened,
    and the run ends as with Ctrl-C.

    Registered as a `DataLoader` with name "watched".

    # Example

    ```json
    "data_loader": {
        "type": "watched",
        "batch_size": 16,
        "num_workers": 2,
        "max_instances_in_memory": 1600
    }
    ```
    """

    def _start_batch_workers(self, queue: Any, ctx: Any) -> Any:
        workers, pipes = super()._start_batch_workers(queue, ctx)
        Thread(target=_watch, args=(queue, workers), daemon=True).start()
        return workers, pipes

    def _start_instance_workers(self, queue: Any, ctx: Any) -> Any:
        workers, pipes = super()._start_instance_workers(queue, ctx)
        Thread(target=_watch, args=(queue, workers), daemon=True).start()
        return workers, pipes

    def _join_workers(self, workers: List[BaseProcess], queue: Any, txs: Any) -> None:
        # A killed worker may hold a lock of the queue.
        if any(worker.is_alive() for worker in workers):
            super()._join_workers(workers, queue, txs)


def _watch(queue: Any, workers: List[BaseProcess]) -> None:
    ended = connection.wait([worker.sentinel for worker in workers])
    worker = next(worker for worker in workers if worker.sentinel in ended)
    worker.join()
    # Usually, the workers run until the loader has read everything and closed the queue.
    if not queue._closed and worker.exitcode is not None and worker.exitcode < 0:
        logger.error(
            "A worker of the data loader (process %s) was killed by %s, most likely because the "
            "memory or the shared memory (/dev/shm) is full. Reduce `num_workers` or "
            "`max_instances_in_memory`.",
            worker.pid,
            signal.Signals(-worker.exitcode).name,
        )
        for each in workers:
            each.kill()
            each.join()
        os.kill(os.getpid(), signal.SIGINT)
