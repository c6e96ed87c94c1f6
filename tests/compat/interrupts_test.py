import multiprocessing
import os
import signal
import time
from contextlib import suppress

import pytest
from allennlp.common.util import install_sigterm_handler

from allennlp_semfit.common.parallel import ordered_map
from allennlp_semfit.compat.interrupts import SigTermReceived, exit_code, train_model
from tests.compat.data_loading_test import Reader, read_all


def read_with_workers(directory):
    read_all(Reader(), directory / "pids", lazy=True)


def map_with_workers(_):
    list(ordered_map(str, range(10), num_workers=2, items_per_worker=2))


@pytest.mark.parametrize("start_workers", [read_with_workers, map_with_workers])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_fork_has_an_effect(number, start_workers, tmp_path):
    def run():
        install_sigterm_handler()
        # Python ignores what this raises.
        os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), number))
        try:
            start_workers(tmp_path)
        except KeyboardInterrupt as interrupt:
            os._exit(exit_code(interrupt))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join()
    assert process.exitcode == 128 + number


def wait_for_ctrl_c(waits):
    with suppress(KeyboardInterrupt):
        waits.set()
        time.sleep(1000)


def test_only_the_processes_of_a_distributed_training_are_ended():
    context = multiprocessing.get_context("fork")
    started = {}

    def train():
        for name in ("trainer", "worker"):
            waits = context.Event()
            started[name] = context.Process(
                target=wait_for_ctrl_c, args=(waits,), daemon=name == "worker"
            )
            started[name].start()
            waits.wait()
        raise SigTermReceived

    with pytest.raises(SigTermReceived):
        train_model(train)
    assert started["trainer"].exitcode == 0
    # Python ends daemons.
    assert started["worker"].is_alive()
    started["worker"].kill()
