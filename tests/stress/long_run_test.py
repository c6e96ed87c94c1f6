import time

from stress.child import Child
from stress.long_run import Sample, growth, sample

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

    idle, holding = Child(lambda: time.sleep(600)), Child(hold)
    deadline = time.monotonic() + 300
    while sample(holding.pid).memory - sample(idle.pid).memory < 2**25:
        assert time.monotonic() < deadline
    assert sample(holding.pid).descriptors > 2
    for child in (idle, holding):
        child.end(0)
