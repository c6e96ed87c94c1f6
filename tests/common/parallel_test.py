import multiprocessing
import os
import signal
import threading
import time

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.parallel import available_cpus, ordered_map, run_in_threads
from tests.processes import fork, is_running, wait_until


def test_a_system_without_cpu_affinity(monkeypatch):
    # macOS, for example. Elsewhere, joblib would warn about it without this limit.
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert available_cpus() == 1


def test_all_workers_end_if_one_is_killed_while_they_are_stopped():
    # Another test may have left some.
    others = multiprocessing.active_children()
    # As when SIGTERM is sent to all processes.
    results = ordered_map(time.sleep, [0] + [1] * 20, num_workers=2)
    next(results)
    workers = [each for each in multiprocessing.active_children() if each not in others]
    threading.Timer(0.3, workers[0].kill).start()
    results.close()
    left = [each for each in multiprocessing.active_children() if each not in others]
    for process in left:
        process.kill()
    assert not left


def test_a_worker_that_dies_is_an_error():
    results = ordered_map(os._exit, [9] * 5, num_workers=2)
    with pytest.raises(ConfigurationError, match=r"A worker process died.*\(--num-workers is 2\)"):
        next(results)


def test_an_interruption_while_the_workers_are_stopped_waits_for_them():
    def run():
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        results = ordered_map(time.sleep, [0] + [0.3] * 20, num_workers=2)
        next(results)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
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


@pytest.mark.parametrize(("num_threads", "share"), [(2, 1), (5, 2)])
def test_each_item_has_a_thread_and_its_share(set_num_threads, num_threads, share):
    set_num_threads(num_threads)
    met = threading.Barrier(2, timeout=60)

    def observe(item):
        met.wait()
        assert not torch.is_grad_enabled()
        return item, torch.get_num_threads(), threading.get_ident()

    one, other = run_in_threads(observe, ["one", "other"])
    assert one[:2] == ("one", share)
    assert other[:2] == ("other", share)
    assert one[2] != other[2]
    assert torch.get_num_threads() == num_threads


def test_with_one_thread_all_run_in_the_caller():
    assert torch.get_num_threads() == 1
    idents = run_in_threads(lambda _: threading.get_ident(), range(2))
    assert idents == [threading.get_ident()] * 2


def test_an_error_reaches_the_caller(set_num_threads):
    set_num_threads(2)

    def fail(item):
        raise ValueError(item)

    with pytest.raises(ValueError, match="one"):
        run_in_threads(fail, ["one", "other"])


def test_a_forked_process_has_threads_of_its_own(set_num_threads):
    set_num_threads(2)
    assert run_in_threads(str, [1, 2]) == ["1", "2"]
    child = os.fork()
    if child == 0:
        torch.set_num_threads(2)
        os._exit(run_in_threads(str, [1, 2]) != ["1", "2"])
    assert os.waitpid(child, 0)[1] == 0
