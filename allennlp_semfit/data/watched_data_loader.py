import logging
import multiprocessing
import os
import random
import signal
from collections import deque
from functools import cache
from itertools import chain
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize, get_temp_dir
from threading import Event, Thread
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

import numpy
import torch
from allennlp.data import Instance
from allennlp.data.data_loaders import DataLoader, MultiProcessDataLoader, TensorDict
from allennlp.data.data_loaders.data_collator import DataCollator, allennlp_collate
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError
from allennlp.nn.util import move_to_device
from torch.utils._pytree import tree_map

from allennlp_semfit.common.parallel import initialize_worker

logger = logging.getLogger(__name__)


@DataLoader.register("watched")
class WatchedDataLoader(MultiProcessDataLoader):
    """
    AllenNLP's `multiprocess` data loader, with these differences:

    * The workers end when the iteration, the training of the `resumable` trainer, or the process
      ends. AllenNLP's workers, and so the run, never end if the run does not read all batches,
      for example because of `batches_per_epoch`.
    * If a worker is killed, usually for lack of memory, the log reports this and the run ends as
      with Ctrl-C. AllenNLP would wait for the worker forever.
    * For any number of workers, the seeds of the config determine the batches and their order. The
      workers take turns.
    * The next batch is copied to the GPU while the current one is in use.

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
    _seed: Sequence[int] = ()
    _times_started = 0
    _end_iteration: Optional[Finalize] = None

    def stop_workers(self) -> None:
        """
        Ends the workers of the last iteration. If training ended before the iteration, they would
        otherwise run until garbage collection, perhaps during the next training in this process.
        """
        self._batch_generator = None
        if self._end_iteration is not None:
            self._end_iteration()

    def set_target_device(self, device: torch.device) -> None:
        self._gpu = device if device.type == "cuda" else None
        super().set_target_device(device)
        if self._gpu is not None:
            # `__iter__` copies the batches instead.
            self.cuda_device = None

    def __iter__(self) -> Iterator[TensorDict]:
        batches = super().__iter__()
        return batches if self._gpu is None else _copy_ahead(batches, self._gpu)

    def iter_instances(self) -> Iterator[Instance]:
        if self._instances or self.num_workers <= 0:
            yield from super().iter_instances()
            return
        if self.max_instances_in_memory is None:
            self._instances = []
        instances = self._run_workers(self._instance_worker, self._max_instance_queue_size)
        for instance in self._maybe_tqdm(instances, desc="loading instances"):
            self.reader.apply_token_indexers(instance)
            if self._vocab is not None:
                instance.index_fields(self._vocab)
            if self._instances is not None:
                self._instances.append(instance)
            yield instance

    def _iter_batches(self) -> Iterator[TensorDict]:
        if self._instances is not None or self.num_workers <= 0:
            yield from super()._iter_batches()
            return
        for batch in self._run_workers(self._batch_worker, self._max_batch_queue_size):
            if self.cuda_device is not None and not self._worker_cuda_safe:
                batch = move_to_device(batch, self.cuda_device)
            if isinstance(self.collate_fn, SkippingCollator):
                # The workers' collators are copies.
                self.collate_fn.num_to_skip -= 1
            yield batch

    def _batch_worker(self, worker_id: int, queue: Any, lock: Any, rx: Any) -> None:
        if isinstance(self.collate_fn, SkippingCollator):
            # This worker's share of the batches, which are taken from the workers in turn.
            self.collate_fn.num_to_skip -= worker_id
            self.collate_fn.num_to_skip /= self.num_workers
        super()._batch_worker(worker_id, queue, lock, rx)

    def _run_workers(self, work: Callable, queue_size: Optional[int]) -> Iterator[Any]:
        """Yields the items in the workers' queues, one from each in turn."""
        context = multiprocessing.get_context(self.start_method)
        maxsize = 0 if queue_size is None else max(1, queue_size // self.num_workers)
        # In one shared queue, the order would depend on timing.
        queues = [context.JoinableQueue(maxsize) for _ in range(self.num_workers)]
        lock = context.RLock()
        if not self._seed:
            # Use the random state at the first start: a resumed run does not repeat later states.
            self._seed = random.getstate()[1]
        self._times_started += 1
        # Create the directory for the workers' sockets, because a killed worker would not remove
        # its own.
        get_temp_dir()
        workers: List[BaseProcess] = []
        stopped = Event()
        # A spawned worker gets a copy of this loader, and a `Finalize` cannot be pickled.
        self._end_iteration = None
        # Called when this generator is closed, or before that: by `stop_workers` or at exit.
        stop = Finalize(None, _stop, args=(workers, stopped), exitpriority=0)
        try:
            for worker_id, queue in enumerate(queues):
                # All processes of a training have the same seed, so that the batches of a step have
                # sentences of similar length: the longest batch decides how long the step takes.
                seed = [*self._seed, self._times_started, worker_id]
                worker: BaseProcess = context.Process(  # type: ignore[attr-defined]
                    target=_run_worker, args=(work, seed, worker_id, queue, lock), daemon=True
                )
                workers.append(worker)
                worker.start()
            self._end_iteration = stop
            watch = Thread(target=_watch, args=(workers, stopped), daemon=True)
            watch.start()
            turns = deque(queues)
            while turns:
                try:
                    item, error = turns[0].get()
                except (EOFError, OSError):
                    # The tensors of a killed worker are lost; let `_watch` report it.
                    watch.join(timeout=5)
                    raise
                if error is not None:
                    raise WorkerError(*error)
                if item is None:
                    turns.popleft()
                else:
                    yield item
                    turns.rotate(-1)
        finally:
            stop()

    def _safe_queue_put(self, worker_id: int, item: Any, queue: Any, rx: Any) -> bool:
        # In AllenNLP, `False` ends the worker. Here, workers are killed instead.
        queue.put(item)
        return True


class SkippingCollator(DataCollator):
    """
    AllenNLP's default collator, but the next `num_to_skip` batches are empty: a resumed run, which
    skips them, need not look up their vectors. A fraction counts as one batch.
    """

    def __init__(self) -> None:
        self.num_to_skip = 0.0

    def __call__(self, instances: List[Instance]) -> TensorDict:
        if self.num_to_skip > 0:
            self.num_to_skip -= 1
            return {}
        return allennlp_collate(instances)


def _run_worker(work: Callable, seed: Sequence[int], worker_id: int, queue: Any, lock: Any) -> None:
    initialize_worker()
    # Clusters send SIGTERM to all processes. Only the parent handles it, like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # After a fork, Python reseeds `random`, and the other generators are copies of the parent's.
    seeds = numpy.random.SeedSequence(seed).generate_state(3).tolist()
    random.seed(seeds[0])
    numpy.random.seed(seeds[1])
    torch.manual_seed(seeds[2])
    work(worker_id, queue, lock, None)


def _stop(workers: Iterable[BaseProcess], stopped: Event) -> None:
    stopped.set()
    started = [worker for worker in workers if worker.pid is not None]
    for worker in started:
        worker.kill()
    for worker in started:
        worker.join()


@cache
def _copy_stream(gpu: torch.device) -> torch.cuda.Stream:
    # Memory that was allocated on a stream is only reused on it, so all epochs share one.
    return torch.cuda.Stream(gpu)


def _copy_ahead(batches: Iterable[TensorDict], gpu: torch.device) -> Iterator[TensorDict]:
    stream = _copy_stream(gpu)

    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return move_to_device(value, gpu)
        copied = value.pin_memory().to(gpu, non_blocking=True)
        # Do not reuse the memory before the kernels that read it have ended.
        copied.record_stream(torch.cuda.default_stream(gpu))
        return copied

    ahead: Optional[Tuple[TensorDict, torch.cuda.Event]] = None
    for batch in chain(batches, [None]):
        copied, ahead = ahead, None
        if batch is not None:
            with torch.cuda.stream(stream):
                ahead = tree_map(copy, batch), stream.record_event()
        if copied is not None:
            torch.cuda.current_stream(gpu).wait_event(copied[1])
            yield copied[0]


def _watch(workers: List[BaseProcess], stopped: Event) -> None:
    # A worker only ends by itself on an error; otherwise it waits to be stopped.
    ended = connection.wait([worker.sentinel for worker in workers])
    if stopped.is_set():
        return
    worker = next(worker for worker in workers if worker.sentinel in ended)
    worker.join()
    code = worker.exitcode or 0
    found = f"ended with exit code {code}"
    if code < 0:
        found = (
            f"was killed by {signal.Signals(-code).name}, most likely because the memory or the "
            "shared memory (/dev/shm) is full. Reduce `num_workers` or `max_instances_in_memory`"
        )
    logger.error("A worker of the data loader (process %s) %s.", worker.pid, found)
    _stop(workers, stopped)
    # A shell script starts background processes with SIGINT ignored.
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM if is_ignored else signal.SIGINT)
