import os
import random
import signal
import time
from itertools import chain
from multiprocessing import connection
from threading import Event, Thread

import numpy
import pytest
import torch
from allennlp.common.testing import requires_gpu
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import DataLoader
from allennlp.data.fields import ArrayField

from allennlp_semfit.data import watched_data_loader
from allennlp_semfit.data.fasttext_indexer import FastTextIndexer
from allennlp_semfit.data.language_modeling import LanguageModelingReader
from tests import TRAIN, VECTORS
from tests.batches import with_all_vectors
from tests.processes import run_in_two_processes

# The pickled instances of one worker fill the queue's pipe many times.
ROWS, COLUMNS = 40, 10_000


class Reader(DatasetReader):
    """In worker 1, kills the process at row `last`, or ends it with an exit code."""

    def __init__(self, last, exit_code=None):
        super().__init__(manual_multiprocess_sharding=True)
        self.last = last
        self.exit_code = exit_code

    def _read(self, file_path):
        for row in range(ROWS):
            if self.get_worker_info().id == 1 and row == self.last:
                # The rows before it are in the pipe, or a part of them if it is full.
                time.sleep(0.3)
                if self.exit_code is not None:
                    os._exit(self.exit_code)
                os.kill(os.getpid(), signal.SIGKILL)
            yield Instance({"row": ArrayField(numpy.zeros(COLUMNS))})

    def apply_token_indexers(self, instance):
        pass


@requires_gpu
@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_on_a_gpu_are_those_on_the_cpu(num_workers):
    def batches(gpu):
        loader = DataLoader.by_name("watched")(
            LanguageModelingReader(token_indexers={"fasttext": FastTextIndexer(VECTORS)}),
            str(TRAIN),
            batch_size=4,
            num_workers=num_workers,
            quiet=True,
        )
        loader.index_with(Vocabulary.empty())
        if gpu:
            loader.set_target_device(torch.device(0))
        for batch in loader:
            if gpu:
                # The next batches are copied meanwhile.
                torch.cuda._sleep(10_000_000)
            tensors = with_all_vectors(batch["source"]["fasttext"])
            assert all(tensor.is_cuda == gpu for tensor in tensors.values())
            yield tensors["vectors"]

    # Read from the GPU when all batches are gone.
    actual, expected = (list(batches(gpu)) for gpu in (True, False))
    assert sorted(b.tolist() for b in actual) == sorted(b.tolist() for b in expected)


def test_all_epochs_are_copied_on_one_stream(monkeypatch):
    streams = []
    monkeypatch.setattr(torch.cuda, "Stream", streams.append)
    gpu = torch.device("cuda", 99)
    for _ in range(3):
        assert not list(watched_data_loader._copy_ahead([], gpu))
    assert streams == [gpu]


class RandomReader(DatasetReader):
    """A draw from each generator in each instance."""

    def __init__(self):
        super().__init__(manual_multiprocess_sharding=True)

    def _read(self, file_path):
        for _ in range(20):
            draws = [random.random(), numpy.random.rand(), torch.rand(1).item()]
            yield Instance({"draws": ArrayField(numpy.array(draws, dtype=numpy.float64))})

    def apply_token_indexers(self, instance):
        pass


class NumberReader(RandomReader):
    def _read(self, file_path):
        for number in range(40):
            yield Instance({"draws": ArrayField(numpy.array([number]))})


def random_batches(
    seed, num_workers, start_method="fork", lazy=True, epochs=2, reader=RandomReader
):
    """The batches of each epoch, with the draws of the workers and of the sampler."""
    random.seed(seed)
    loader = build_loader(reader(), num_workers, start_method, lazy)
    return [[batch["draws"].tolist() for batch in loader] for _ in range(epochs)]


def build_loader(reader, num_workers, start_method="fork", lazy=True):
    loader = DataLoader.by_name("watched")(
        reader,
        "none",
        batch_size=3,
        shuffle=True,
        num_workers=num_workers,
        max_instances_in_memory=6 if lazy else None,
        start_method=start_method,
        quiet=True,
    )
    loader.index_with(Vocabulary())
    return loader


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize(
    ("num_workers", "start_method"), [(1, "fork"), (3, "fork"), (2, "forkserver")]
)
def test_the_seed_determines_the_batches(num_workers, start_method, lazy):
    first, again = (random_batches(7, num_workers, start_method, lazy) for _ in range(2))
    assert first == again
    assert first[0] != first[1]
    other = random_batches(8, num_workers, start_method, lazy)
    draws = {
        tuple(draw)
        for batch in chain(first[0], *(first[1:] if lazy else ()), other[0])
        for draw in batch
    }
    # No two workers, epochs or seeds have a draw in common.
    count = 20 * num_workers * (3 if lazy else 2)
    assert len(draws) == count
    assert all(len(set(values)) == count for values in zip(*draws))


class UnequalReader(RandomReader):
    """The workers have 1, 2 and 3 batches."""

    def _read(self, file_path):
        for number in range(3 * self.get_worker_info().id + 3):
            yield Instance({"draws": ArrayField(numpy.array([number]))})


@pytest.mark.parametrize("reader", [RandomReader, UnequalReader])
@pytest.mark.parametrize("num_to_skip", [0, 1, 4, 5, 100])
def test_the_batches_to_skip_are_empty(reader, num_to_skip):
    (expected,) = random_batches(7, 3, epochs=1, reader=reader)
    random.seed(7)
    loader = build_loader(reader(), 3)
    loader.collate_fn = watched_data_loader.SkippingCollator()
    loader.collate_fn.num_to_skip = num_to_skip
    batches = [batch["draws"].tolist() if batch else None for batch in loader]
    skipped = [None] * min(num_to_skip, len(expected))
    if reader is UnequalReader and num_to_skip in (4, 5):
        # The other workers do not know that the first one has no batch left.
        skipped[-1] = expected[num_to_skip - 1]
    assert batches == [*skipped, *expected[num_to_skip:]]
    assert loader.collate_fn.num_to_skip == num_to_skip - len(expected)


def draw(rank, world_size, device, place):
    (batches,) = random_batches(7, 1, epochs=1, reader=NumberReader)
    # Each process has every second instance.
    places = [int(number) // 2 for batch in batches for (number,) in batch]
    assert sorted(places) == list(range(20)) != places
    (place / str(rank)).write_text(str(places))


def test_processes_that_train_together_shuffle_alike(tmp_path):
    run_in_two_processes(draw, tmp_path)
    first, second = ((tmp_path / str(rank)).read_text() for rank in range(2))
    assert first == second


@pytest.mark.usefixtures("fail_instead_of_hanging")
@pytest.mark.parametrize(
    ("last", "lazy", "start_method", "exit_code"),
    [(0, True, "fork", None), (20, False, "fork", 3), (20, True, "forkserver", None)],
)
def test_a_worker_that_ends_ends_the_run(last, lazy, start_method, exit_code, caplog):
    with pytest.raises(KeyboardInterrupt):
        list(build_loader(Reader(last, exit_code), 2, start_method, lazy))
    killed = "was killed by SIGKILL, most likely because the memory"
    assert ("ended with exit code 3" if exit_code else killed) in caplog.text


@pytest.mark.usefixtures("fail_instead_of_hanging")
def test_a_killed_worker_is_reported_before_the_loss_of_its_tensors(monkeypatch, caplog):
    watch = watched_data_loader._watch
    is_dead, is_waited_for = Event(), Event()

    class Watch(Thread):
        def join(self, timeout=None):
            is_waited_for.set()
            super().join(timeout)

    def watch_late(workers, stopped):
        connection.wait([worker.sentinel for worker in workers])
        is_dead.set()
        is_waited_for.wait(60)
        watch(workers, stopped)

    monkeypatch.setattr(watched_data_loader, "Thread", Watch)
    monkeypatch.setattr(watched_data_loader, "_watch", watch_late)
    batches = iter(build_loader(Reader(8), 2))
    # The other worker's.
    next(batches)
    is_dead.wait(60)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        next(batches)
    assert isinstance(interrupt.value.__context__, ConnectionError)
    assert "was killed by SIGKILL" in caplog.text
