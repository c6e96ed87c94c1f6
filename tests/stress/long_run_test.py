import os
import time

import pytest

from stress import child
from stress.child import Child
from stress.long_run import Sample, _watch, growth, sample

STEADY = [Sample(2**30, 20 + index % 3, 0) for index in range(100)]


def test_what_is_steady_after_its_start_does_not_grow():
    start = [Sample(index * 2**25, index, 2**22) for index in range(24)]
    assert growth(start + STEADY) == {}


def test_a_leak_grows():
    leaking = [
        each._replace(memory=each.memory + index * 2**20, descriptors=each.descriptors + 2 * index)
        for index, each in enumerate(STEADY)
    ]
    assert growth(leaking).keys() == {"memory", "descriptors"}


def test_a_process_is_measured():
    def hold():
        block = b"x" * 2**26
        time.sleep(600)
        return block

    with Child(lambda: time.sleep(600)) as idle, Child(hold) as holding:
        deadline = time.monotonic() + 300
        while sample(holding.pid).memory - sample(idle.pid).memory < 2**25:
            assert time.monotonic() < deadline
        assert sample(holding.pid).descriptors > 2


def leave():
    if not os.fork():
        time.sleep(600)
    os._exit(0)


@pytest.mark.parametrize(
    ("function", "verdict"), [(int, "ok"), (lambda: time.sleep(600), "hang"), (leave, "orphan")]
)
def test_a_hang_and_an_orphan_are_findings(function, verdict, monkeypatch):
    monkeypatch.setattr(child, "_GRACE_SECONDS", 0.2)
    seconds = 1 if verdict == "hang" else 300
    assert _watch("embed", "10 words", function, seconds).verdict == verdict
