import multiprocessing
import os
import random
import signal
import time

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.dataset_readers import SequenceTaggingDatasetReader
from allennlp.data.fields import ArrayField
from allennlp.data.samplers import BatchSampler
from numpy import zeros

import allennlp_semfit  # noqa: F401 (patches the loader)
from tests.processes import fork, is_running, wait_until

# The pickled instances of one worker fill the queue's pipe many times.
ROWS, COLUMNS = 40, 10_000


class Reader(DatasetReader):
    """In worker 1, ends the process at row `last`."""

    def __init__(self, last: int = -1, number: int = signal.SIGKILL) -> None:
        super().__init__(manual_multiprocess_sharding=True)
        self.last = last
        self.number = number

    def _read(self, file_path):
        info = self.get_worker_info()
        if info is not None:
            with open(file_path, "a") as pids:
                pids.write(f"{os.getpid()}\n")
        for row in range(ROWS):
            if info is not None and info.id == 1 and row == self.last:
                # The rows before it are in the pipe, or a part of them if it is full.
                time.sleep(0.3)
                os.kill(os.getpid(), self.number)
            yield Instance({"row": ArrayField(zeros(COLUMNS))})

    def apply_token_indexers(self, instance):
        pass


pytestmark = pytest.mark.usefixtures("fail_instead_of_hanging")


def read_all(reader, path, lazy, start_method="fork"):
    loader = MultiProcessDataLoader(
        reader,
        str(path),
        batch_size=2,
        num_workers=2,
        max_instances_in_memory=8 if lazy else None,
        start_method=start_method,
        quiet=True,
    )
    loader.index_with(Vocabulary())
    return sum(len(batch["row"]) for batch in loader)


@BatchSampler.register("random_order")
class RandomOrder(BatchSampler):
    def get_batch_indices(self, instances):
        indices = list(range(len(instances)))
        random.shuffle(indices)
        return ([index] for index in indices)

    def get_num_batches(self, instances):
        return len(instances)

    def get_batch_size(self):
        return 1


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_the_order_of_a_streaming_worker_is_that_of_the_seed(start_method, tmp_path):
    data = tmp_path / "data"
    data.write_text("\n".join(f"word{number}###N" for number in range(20)))
    loader = MultiProcessDataLoader(
        SequenceTaggingDatasetReader(),
        str(data),
        batch_sampler=RandomOrder(),
        num_workers=1,
        max_instances_in_memory=20,
        start_method=start_method,
        quiet=True,
    )
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))

    def order():
        return [int(batch["tokens"]["tokens"]["tokens"]) for batch in loader]

    random.seed(1)
    first, second = order(), order()
    assert first != second
    random.seed(1)
    assert [order(), order()] == [first, second]


class TestKilledWorker:
    @pytest.mark.parametrize("start_method", ["fork", "forkserver"])
    @pytest.mark.parametrize("lazy", [True, False])
    @pytest.mark.parametrize("last", [0, 20])
    def test_its_end_is_an_error_that_names_it(self, last, lazy, start_method, tmp_path):
        with pytest.raises(ConfigurationError) as error:
            read_all(Reader(last), tmp_path / "pids", lazy, start_method)
        message = str(error.value)
        pids = (tmp_path / "pids").read_text().split()
        assert sum(f"(process {pid}) was ended by SIGKILL" in message for pid in pids) == 1
        assert (
            "SIGKILL, most likely for lack of memory: reduce `num_workers`, which is 2" in message
        )
        assert message.endswith(f"`max_instances_in_memory`, which is {8 if lazy else None}.")
        wait_until(lambda: not multiprocessing.active_children())

    def test_the_cause_of_other_signals_is_not_guessed(self, tmp_path):
        with pytest.raises(ConfigurationError, match="ended by SIGTERM: reduce"):
            read_all(Reader(3, signal.SIGTERM), tmp_path / "pids", lazy=True)

    @pytest.mark.parametrize("lazy", [True, False])
    def test_without_one_all_is_read(self, lazy, tmp_path):
        assert read_all(Reader(), tmp_path / "pids", lazy) == 2 * ROWS


def test_workers_end_with_their_process(tmp_path):
    pids = tmp_path / "pids"

    def read():
        loader = MultiProcessDataLoader(
            Reader(), str(pids), batch_size=2, num_workers=2, max_instances_in_memory=ROWS
        )
        loader.index_with(Vocabulary())
        batches = iter(loader)
        next(batches)
        wait_until(lambda: len(pids.read_text().split()) == 2)
        # By then they have read everything, and wait for the loader to close.
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)

    process = fork(read)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    for pid in map(int, pids.read_text().split()):
        wait_until(lambda pid=pid: not is_running(pid))
