import multiprocessing
import time
from threading import Timer

from allennlp_semfit.common.parallel import ordered_map


def test_all_workers_end_if_one_is_killed_while_they_are_stopped():
    # As when SIGTERM is sent to all processes.
    results = ordered_map(time.sleep, [0] + [1] * 20, num_workers=2, items_per_worker=4)
    next(results)
    Timer(0.3, multiprocessing.active_children()[0].kill).start()
    results.close()
    left = multiprocessing.active_children()
    for process in left:
        process.kill()
    assert not left
