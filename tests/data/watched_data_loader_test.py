import os
import signal
import time

import pytest
import torch
from allennlp.common.testing import requires_gpu
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import DataLoader
from allennlp.data.fields import ArrayField
from numpy import zeros

from allennlp_semfit.data import FastTextIndexer, LanguageModelingReader
from tests import FIXTURES, VECTORS
from tests.batches import with_all_vectors

# The pickled instances of one worker fill the queue's pipe many times.
ROWS, COLUMNS = 40, 10_000


class Reader(DatasetReader):
    """In worker 1, kills the process at row `last`."""

    def __init__(self, last):
        super().__init__(manual_multiprocess_sharding=True)
        self.last = last

    def _read(self, file_path):
        for row in range(ROWS):
            if self.get_worker_info().id == 1 and row == self.last:
                # The rows before it are in the pipe, or a part of them if it is full.
                time.sleep(0.3)
                os.kill(os.getpid(), signal.SIGKILL)
            yield Instance({"row": ArrayField(zeros(COLUMNS))})

    def apply_token_indexers(self, instance):
        pass


@requires_gpu
@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_on_a_gpu_are_those_on_the_cpu(num_workers):
    def batches(gpu):
        loader = DataLoader.by_name("watched")(
            LanguageModelingReader(token_indexers={"fasttext": FastTextIndexer(VECTORS)}),
            str(FIXTURES / "corpus" / "train"),
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


def read_all(last, lazy, start_method="fork"):
    loader = DataLoader.by_name("watched")(
        Reader(last),
        "none",
        batch_size=2,
        num_workers=2,
        max_instances_in_memory=8 if lazy else None,
        start_method=start_method,
        quiet=True,
    )
    loader.index_with(Vocabulary())
    return sum(len(batch["row"]) for batch in loader)


@pytest.mark.usefixtures("fail_instead_of_hanging")
@pytest.mark.parametrize(
    ("last", "lazy", "start_method"),
    [(0, True, "fork"), (20, True, "fork"), (20, False, "fork"), (20, True, "spawn")],
)
def test_a_killed_worker_ends_the_run(last, lazy, start_method, caplog):
    with pytest.raises(KeyboardInterrupt):
        read_all(last, lazy, start_method)
    assert "was killed by SIGKILL, most likely because the memory" in caplog.text


@pytest.mark.parametrize("lazy", [True, False])
def test_without_a_killed_worker_all_is_read(lazy, caplog):
    assert read_all(None, lazy) == 2 * ROWS
    assert "was killed" not in caplog.text
