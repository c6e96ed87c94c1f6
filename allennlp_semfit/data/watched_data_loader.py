import os
import signal
from itertools import chain
from threading import Thread
from typing import Any, Iterable, Iterator, Optional, Tuple

import numpy
import torch
import torch.distributed as dist
from allennlp.common.util import is_distributed
from allennlp.data import Instance
from allennlp.data.data_loaders import DataLoader, MultiProcessDataLoader, TensorDict
from allennlp.data.dataset_readers import WorkerInfo
from allennlp.nn.util import move_to_device
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import IterableDataset, get_worker_info

from allennlp_semfit.common.parallel import initialize_worker


@DataLoader.register("watched")
class WatchedDataLoader(MultiProcessDataLoader):
    """
    AllenNLP's `multiprocess` data loader with the worker processes of `torch.utils.data`:

    * The workers end with the iteration or the run. AllenNLP's workers, and so the run, never end
      if the run does not read all batches, for example because of `batches_per_epoch`.
    * If a worker is killed, usually for lack of memory, the run ends with an error. AllenNLP would
      wait for the worker forever.
    * For any number of workers, the seeds of the config determine the batches and their order.
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
    _num_starts = 0

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
        instances = self._run_workers(as_batches=False)
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
        for batch in self._run_workers(as_batches=True):
            yield batch if self.cuda_device is None else move_to_device(batch, self.cuda_device)

    def _run_workers(self, as_batches: bool) -> Iterable[Any]:
        self._num_starts += 1
        # PyTorch derives the seeds of the workers from the generator.
        seed = [torch.initial_seed(), self._num_starts, dist.get_rank() if is_distributed() else 0]
        generator = torch.Generator()
        generator.manual_seed(int(numpy.random.SeedSequence(seed).generate_state(1, "uint64")[0]))
        size = self._max_batch_queue_size if as_batches else self._max_instance_queue_size
        return TorchDataLoader(
            _Work(self, as_batches),
            batch_size=None,
            collate_fn=_unchanged,
            num_workers=self.num_workers,
            prefetch_factor=max(1, (size or _UNBOUNDED) // self.num_workers),
            multiprocessing_context=self.start_method,
            worker_init_fn=_initialize_worker,
            generator=generator,
        )


# The instances that are read ahead if all of them are kept in memory anyway.
_UNBOUNDED = 10_000


class _Work(IterableDataset):
    """What a worker reads."""

    def __init__(self, loader: WatchedDataLoader, as_batches: bool) -> None:
        self._loader = loader
        self._as_batches = as_batches

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        assert worker is not None
        reader = self._loader.reader
        reader._set_worker_info(WorkerInfo(worker.num_workers, worker.id))
        instances = reader.read(self._loader.data_path)
        if not self._as_batches:
            return iter(instances)
        return self._loader._instances_to_batches(instances, move_to_device=False)


def _unchanged(item: Any) -> Any:
    return item


def _initialize_worker(worker_id: int) -> None:
    # Clusters send SIGTERM to all processes, but only the parent handles it. Threads inherit this.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    initialize_worker()
    Thread(target=_exit_if_the_parent_asks, daemon=True).start()


def _exit_if_the_parent_asks() -> None:
    while signal.sigwaitinfo([signal.SIGTERM]).si_pid != os.getppid():
        pass
    os._exit(0)


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
        # Do not reuse the memory before the kernels that read it have ended.
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
