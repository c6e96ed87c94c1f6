import multiprocessing
import os
import signal
import time
from threading import Timer

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.parallel import ordered_map
from tests.processes import fork, is_running, wait_until


def test_all_workers_end_if_one_is_killed_while_they_are_stopped():
    # Another test may have left some.
    others = multiprocessing.active_children()
    # As when SIGTERM is sent to all processes.
    results = ordered_map(time.sleep, [0] + [1] * 20, num_workers=2)
    next(results)
    workers = [each for each in multiprocessing.active_children() if each not in others]
    Timer(0.3, workers[0].kill).start()
    results.close()
    left = [each for each in multiprocessing.active_children() if each not in others]
    for process in left:
        process.kill()
    assert not left


def test_a_worker_that_dies_is_an_error():
    results = ordered_map(os._exit, [9] * 5, num_workers=2)
    with pytest.raises(ConfigurationError, match=r"A worker process died.*\(num_workers is 2\)"):
        next(results)


def test_an_interruption_while_the_workers_are_stopped_waits_for_them():
    def run():
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        results = ordered_map(time.sleep, [0] + [0.3] * 20, num_workers=2)
        next(results)
        Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            results.close()
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])

    process = fork(run)
    process.join(60)
    process.kill()
    process.join()
    assert process.exitcode == 0
    wait_until(lambda: not is_running(-process.pid))


def test_the_workers_end_with_the_parent(tmp_path):
    begun = tmp_path / "begun"

    def run():
        os.setsid()
        for _ in ordered_map(time.sleep, [0] + [1000] * 5, num_workers=2):
            begun.touch()

    process = fork(run)
    wait_until(begun.exists)
    assert is_running(-process.pid)
    process.kill()
    process.join()
    wait_until(lambda: not is_running(-process.pid))
