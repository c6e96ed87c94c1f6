import time

import pytest
from allennlp.common.checks import ConfigurationError

from experiments.peers.clock import TrainingClock, learning_rate_factor


@pytest.fixture
def clock(monkeypatch):
    """A clock, and a function that advances it."""
    now = [100.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def advance(seconds):
        now[0] += seconds

    return TrainingClock(60.0), advance


def test_the_time_includes_the_preparation(clock):
    clock, advance = clock
    advance(20.0)
    clock.end_preparation()
    assert clock.progress() == 0.0
    advance(10.0)
    assert clock.progress() == 0.25
    advance(30.0)
    assert clock.progress() == 1.0


def test_a_preparation_that_takes_all_the_time_is_an_error(clock):
    clock, advance = clock
    advance(61.0)
    with pytest.raises(ConfigurationError, match="took 61 of 60 seconds; give more --minutes"):
        clock.end_preparation()


@pytest.mark.parametrize(
    ("progress", "expected"),
    [(0.0, 0.0), (0.05, 0.5), (0.1, 1.0), (0.55, 0.5), (1.0, 0.0), (1.2, 0.0)],
)
def test_the_learning_rate_rises_and_falls(progress, expected):
    assert learning_rate_factor(progress, warmup=0.1) == pytest.approx(expected)


def test_without_a_warmup_it_starts_at_its_peak():
    assert learning_rate_factor(0.0, warmup=0.0) == 1.0
