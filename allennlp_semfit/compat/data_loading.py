"""Replacements for methods of AllenNLP's data loader and samplers."""

import random
import signal
from functools import partial
from itertools import islice
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence
from unittest import mock

from allennlp.common import util
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.data.data_loaders import MultiProcessDataLoader, multiprocess_data_loader
from allennlp.data.samplers import MaxTokensBatchSampler

from allennlp_semfit.common.parallel import initialize_worker
from allennlp_semfit.common.signals import delayed_signals

_LIKELY_CAUSES = {
    "SIGKILL": ", most likely for lack of memory",
    "SIGBUS": ", most likely because the shared memory (/dev/shm) is full",
}


def start_workers(start: Callable, self: MultiProcessDataLoader, queue: Any, context: Any) -> Any:
    self._seed = random.getrandbits(64)  # type: ignore[attr-defined]
    # The method uses the module `mp` only for the lock.
    with mock.patch.object(multiprocess_data_loader, "mp", context), delayed_signals():
        workers, pipes = start(self, queue, context)
    # When the last worker has ended, reading the queue raises an error. A timeout would not do: a
    # killed worker can leave a part of a message, and the reader waits for the rest.
    queue._writer.close()
    watch = _Watch(queue, workers)
    queue.get = partial(_get, queue.get, watch, self)
    return workers, pipes


def run_worker(
    run: Callable, self: MultiProcessDataLoader, worker_id: int, *args: Any, **kwargs: Any
) -> None:
    initialize_worker()
    # Python seeds those of a new process from the operating system.
    random.seed(self._seed + worker_id)  # type: ignore[attr-defined]
    run(self, worker_id, *args, **kwargs)


def join_workers(
    join: Callable, self: MultiProcessDataLoader, workers: List[BaseProcess], queue: Any, pipes: Any
) -> None:
    # After one was killed, the others are too, and do not read messages.
    if any(worker.is_alive() for worker in workers):
        join(self, workers, queue, pipes)
    # It refers to the queue, which closes its pipe when nothing refers to it.
    del queue.get


class _Watch(Thread):
    """Kills all workers if one ends while the queue is open. `ended` is that worker."""

    def __init__(self, queue: Any, workers: Sequence[BaseProcess]) -> None:
        super().__init__(daemon=True)
        self._queue = queue
        self.workers = workers
        self.ended: Optional[BaseProcess] = None
        self.start()

    def run(self) -> None:
        sentinels = connection.wait([worker.sentinel for worker in self.workers])
        # Usually, they run until the loader has read everything and closed the queue.
        if not self._queue._closed:
            self.ended = next(w for w in self.workers if w.sentinel in sentinels)
            for worker in self.workers:
                worker.kill()


def _get(get: Callable, watch: _Watch, loader: MultiProcessDataLoader) -> Any:
    if watch.ended is None:
        try:
            return get()
        except Exception:
            # A worker's end is seen here first if it was the only one.
            watch.join(timeout=5)
            if watch.ended is None:
                raise
    for worker in watch.workers:
        worker.join()
    code = watch.ended.exitcode or 0
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    raise ConfigurationError(
        f"A worker of the data loader (process {watch.ended.pid}) was ended by {how}"
        f"{_LIKELY_CAUSES.get(how, '')}: reduce `num_workers`, which is {loader.num_workers}, or "
        f"`max_instances_in_memory`, which is {loader.max_instances_in_memory}."
    )


def shard_iterable(shard: Callable, self: DatasetReader, iterable: Iterable[Any]) -> Iterator[Any]:
    # Only a forked worker is in the process group of a distributed training.
    info = self.get_distributed_info()
    if info is not None and not util.is_distributed():
        iterable = islice(iterable, info.global_rank, None, info.world_size)
    items: Iterator[Any] = shard(self, iterable)
    return items


def usual_batch_size(self: MaxTokensBatchSampler) -> int:
    # An estimate, for sentences of 25 words.
    return max(self.max_tokens // 25, 1)


def skip_empty_batches(
    get_batch_indices: Callable, self: MaxTokensBatchSampler, instances: Sequence[Instance]
) -> Iterator[List[int]]:
    return filter(None, get_batch_indices(self, instances))
