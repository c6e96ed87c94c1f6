import pytest

from benchmarks.allreduce import allreduce_bytes, predict_speed, predict_speeds


@pytest.mark.parametrize("num_devices", [1, 2, 3, 8])
def test_a_ring_sends_that_many_bytes(num_devices):
    """Each device hands on a chunk n - 1 times to sum it, and n - 1 times to spread the sums."""
    num_parameters = 1200
    chunks = [list(range(device, num_parameters, num_devices)) for device in range(num_devices)]
    sent = 0
    for _ in ("sum", "spread"):
        for turn in range(num_devices - 1):
            sent += 4 * len(chunks[-turn % num_devices])
    assert allreduce_bytes(num_parameters, num_devices) == pytest.approx(sent)


def test_the_bounds_by_hand():
    # 2 · 3/4 · 4 bytes of 100 parameters: 600 bytes, 6 s of a link of 100 bytes a second.
    assert predict_speed(100, 10, 2.0, 4, 100.0) == pytest.approx((40 / 8, 40 / 6))
    # A link that is quick enough costs nothing if it works beside the step.
    assert predict_speed(100, 10, 2.0, 4, 1000.0) == pytest.approx((40 / 2.6, 40 / 2))


def test_one_device_sends_nothing():
    assert predict_speed(100, 10, 2.0, 1, 1.0) == (5.0, 5.0)


def test_the_table():
    table = predict_speeds({"a": (100, 10, 2.0)}, 4, {"slow": 100.0})
    assert table == {
        "a": {
            "allreduce_bytes": 600.0,
            "words_per_second, slow, no overlap": pytest.approx(5.0),
            "words_per_second, slow, full overlap": pytest.approx(40 / 6),
        }
    }
