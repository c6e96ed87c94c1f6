import os
import signal
import time

import pytest
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import DataLoader
from allennlp.data.fields import ArrayField
from numpy import zeros

import allennlp_semfit  # noqa: F401 (registers the loader)

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
