import mpmath
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from hypothesis import given
from hypothesis import strategies as st

PAPER = {"num_replicas": 4, "warmup_steps": 5, "decay_start": 120, "decay_end": 240}


def scheduler_of(config, lr=0.01, **length):
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    groups = [{"params": [parameters[0]]}, {"params": [parameters[1]], "lr": 2 * lr}]
    optimizer = torch.optim.Adam(groups, lr=lr)
    config = Params({"type": "large_batch", **config})
    return optimizer, LearningRateScheduler.from_params(config, optimizer=optimizer, **length)


def closed_form(t, num_replicas, warmup_steps, decay_start, decay_end):
    """The formula of the paper, with numbers that do not overflow."""
    n, p, s, e = (mpmath.mpf(x) for x in (num_replicas, warmup_steps, decay_start, decay_end))
    factor = min(1 + t * (n - 1) / (n * p), n, n * (2 * n) ** ((s - n * t) / (e - s)))
    return float(max(factor, mpmath.mpf(1) / 2))


def test_every_step_equals_the_closed_form():
    optimizer, scheduler = scheduler_of(PAPER)
    assert [group["lr"] for group in optimizer.param_groups] == [0.01, 0.02]
    factors = []
    for step in range(1, 101):
        scheduler.step_batch(step)
        # The end of an epoch changes nothing.
        scheduler.step(0.3)
        factors.append(closed_form(step, **PAPER))
        for group, base in zip(optimizer.param_groups, (0.01, 0.02)):
            assert group["lr"] == pytest.approx(base * factors[-1], rel=1e-12)
    # It rises to step 20, is constant to 30, falls to 60, and then is constant.
    assert factors[0] == pytest.approx(1 + 3 / 20)
    assert factors[18] < factors[19] == factors[29] == 4
    assert factors[30] < 4
    assert factors[58] > factors[59] == pytest.approx(0.5)
    assert set(factors[60:]) == {0.5}


@given(
    st.integers(1, 1000),
    st.integers(1, 10**6),
    st.integers(0, 10**7),
    st.integers(1, 10**7),
    st.integers(0, 10**8),
)
def test_no_size_overflows(num_replicas, warmup_steps, held, length, step):
    start = num_replicas**2 * warmup_steps + held
    config = {
        "num_replicas": num_replicas,
        "warmup_steps": warmup_steps,
        "decay_start": start,
        "decay_end": start + length,
    }
    optimizer, scheduler = scheduler_of(config)
    scheduler.step_batch(step)
    expected = 0.01 * closed_form(step, **config)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"num_replicas": 0}, "learning_rate_scheduler.num_replicas must be at least 1, got 0"),
        ({"warmup_steps": 0}, "warmup_steps must be greater than 0, got 0"),
        ({"num_replicas": 2, "warmup_steps": 31}, "warmup would take .* 62, but .* at step 60"),
        ({"warmup_steps": 8}, "warmup would take .* 32, but the decay starts at step 30"),
        ({"decay_end": 120}, "decay_end: 120; it must be greater than `decay_start`, 120"),
        ({"decay_start": -1}, "decay_start must be at least 0, got -1"),
    ],
)
def test_bad_values_are_refused(bad, message):
    with pytest.raises(ConfigurationError, match=message):
        scheduler_of({**PAPER, **bad})


@pytest.mark.parametrize("num_replicas", [1, 4])
@pytest.mark.parametrize(("num_epochs", "num_steps_per_epoch"), [(3, 100), (20, 7), (1, 1)])
def test_by_default_the_schedule_fits_the_training(num_replicas, num_epochs, num_steps_per_epoch):
    length = {"num_epochs": num_epochs, "num_steps_per_epoch": num_steps_per_epoch}
    optimizer, scheduler = scheduler_of({"num_replicas": num_replicas}, **length)
    num_steps = num_epochs * num_steps_per_epoch
    config = {
        "num_replicas": num_replicas,
        "warmup_steps": num_steps / 10 / num_replicas,
        "decay_start": num_replicas * num_steps / 2,
        "decay_end": num_replicas * num_steps,
    }
    factors = []
    for step in range(1, num_steps + 1):
        scheduler.step_batch(step)
        factors.append(optimizer.param_groups[0]["lr"] / 0.01)
        assert factors[-1] == pytest.approx(closed_form(step, **config))
    assert factors[-1] == pytest.approx(0.5)
    if num_steps % 10 == 0:
        assert factors[num_steps // 10 - 1] == pytest.approx(num_replicas)
        assert factors[num_steps // 2 - 1] == pytest.approx(num_replicas)


def test_a_default_needs_the_length_of_the_training():
    length = {"num_epochs": 3, "num_steps_per_epoch": None}
    with pytest.raises(ConfigurationError, match="Set `data_loader.batches_per_epoch`, or"):
        scheduler_of({"num_replicas": 4, "decay_start": 100}, **length)
    scheduler_of(PAPER, **length)
