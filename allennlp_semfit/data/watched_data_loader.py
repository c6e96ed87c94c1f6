import logging
import os
import signal
from itertools import chain
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Iterable, Iterator, List, Optional, Tuple

import torch
from allennlp.data.data_loaders import DataLoader, MultiProcessDataLoader, TensorDict
from allennlp.nn.util import move_to_device

__all__ = ["WatchedDataLoader"]

logger = logging.getLogger(__name__)


@DataLoader.register("watched")
class WatchedDataLoader(MultiProcessDataLoader):
    """
    AllenNLP's `multiprocess` data loader, with two differences:

    * If one of its workers is killed, usually for lack of memory, the log says so, and the run ends
      as with Ctrl-C. AllenNLP would wait for the worker forever.
    * The next batch is copied to the GPU while this one is in use.

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

    _gpu: Optional[torch.device] = None

    def set_target_device(self, device: torch.device) -> None:
        self._gpu = device if device.type == "cuda" else None
        super().set_target_device(device)
        if self._gpu is not None:
            # `__iter__` copies the batches.
            self.cuda_device = None

    def __iter__(self) -> Iterator[TensorDict]:
        batches = super().__iter__()
        return batches if self._gpu is None else _copy_ahead(batches, self._gpu)

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


def _copy_ahead(batches: Iterable[TensorDict], gpu: torch.device) -> Iterator[TensorDict]:
    stream = torch.cuda.Stream(gpu)

    def copy(tensors: Any) -> Any:
        if isinstance(tensors, dict):
            return {name: copy(value) for name, value in tensors.items()}
        if type(tensors) in (list, tuple):
            return type(tensors)(map(copy, tensors))
        if not isinstance(tensors, torch.Tensor):
            return move_to_device(tensors, gpu)
        copied = tensors.pin_memory().to(gpu, non_blocking=True)
        # Its memory is free when what uses it has ended, not when it has been launched.
        copied.record_stream(torch.cuda.default_stream(gpu))
        return copied

    ahead: Optional[Tuple[TensorDict, torch.cuda.Event]] = None
    for batch in chain(batches, [None]):
        copied, ahead = ahead, None
        if batch is not None:
            with torch.cuda.stream(stream):
                ahead = copy(batch), stream.record_event()
        if copied is not None:
            torch.cuda.current_stream(gpu).wait_event(copied[1])
            yield copied[0]


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
