import pytest
import torch

from benchmarks.peak_memory import measure_peak_memory

CPU = torch.device("cpu")
MODEL, SENTENCE = 200_000_000, 5_000_000


def build(model_bytes, sentence_bytes):
    """A model that holds so many bytes, and takes so many for each sentence."""
    model = torch.ones(model_bytes, dtype=torch.uint8)

    def make_step(batch_size):
        def step():
            batch = torch.ones(batch_size, sentence_bytes, dtype=torch.uint8)
            return model[0] + batch[0, 0]

        return step

    return make_step


def test_the_line_and_the_largest_batch():
    use = measure_peak_memory(
        build,
        (MODEL, SENTENCE),
        # What was before does not count.
        warmup=(2 * MODEL, 2 * SENTENCE),
        batch_sizes=(2, 8),
        budget=300e6,
        device=CPU,
        max_checked=12,
    )
    assert use.fixed_bytes == pytest.approx(MODEL, rel=0.05)
    assert use.bytes_per_sentence == pytest.approx(SENTENCE, rel=0.05)
    assert use.largest_batch == pytest.approx(20, abs=2)
    assert use.peaks[12] == pytest.approx(MODEL + 12 * SENTENCE, rel=0.05)


def test_a_model_that_does_not_fit_has_no_largest_batch():
    use = measure_peak_memory(
        build,
        (MODEL, SENTENCE),
        warmup=(1, 1),
        batch_sizes=(1, 2),
        budget=MODEL / 2,
        device=CPU,
    )
    assert use.largest_batch == 0
    assert list(use.peaks) == [1, 2]
