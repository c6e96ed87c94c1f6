import json
import sys
import time

import pytest
import torch

from benchmarks import loader


def test_the_loaders_are_timed_and_compared(tmp_path, monkeypatch):
    out = tmp_path / "results" / "loader.json"
    sizes = ["--num-words", "3000", "--num-types", "300", "--batch-size", "2"]
    model = ["--step", "--cell-size", "8", "--projection-dim", "4"]
    arguments = [*sizes, *model, "--repeats", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["loader", *arguments])
    loader.main()
    results = json.loads(out.read_text())
    names = [
        f"{indexer}, workers: {num_workers}"
        for num_workers in (0, 1, 2)
        for indexer in ("fasttext", "single_id", "elmo_characters")
    ]
    assert list(results["timings"]) == names
    speeds = {name: row["words_per_second"] for name, row in results["timings"].items()}
    for name, row in results["timings"].items():
        assert 0 < row["min_seconds"] <= row["median_seconds"] <= row["max_seconds"]
        assert speeds[name] == pytest.approx(loader.UNIT / row["median_seconds"])
    (seconds,) = results["training_step_seconds"]
    assert results["words_per_second_training_step"] == pytest.approx(loader.UNIT / seconds)


def test_only_the_batches_after_the_start_are_timed():
    def batches():
        for number in range(12):
            # The first ones, and the end of the workers, take time.
            time.sleep(0.3 if number < loader.BATCHES_AT_ONCE else 0.01)
            mask = torch.ones(1, 5, dtype=torch.bool)
            yield {"source": {"words": {"word_mask": mask, "vectors": torch.zeros(1, 5, 2)}}}
        time.sleep(0.6)

    class Loader:
        num_workers = 1

        def __iter__(self):
            return batches()

    assert 0.04 <= loader.time_loader(Loader()) * 20 / loader.UNIT < 0.5


def test_the_text_has_as_many_words_as_asked_for(tmp_path):
    loader.write_text(tmp_path / "text.txt", 2000, 500)
    sentences = [line.split() for line in (tmp_path / "text.txt").read_text().splitlines()]
    words = [word for sentence in sentences for word in sentence]
    assert len(words) == 2000
    assert 100 < len(set(words)) <= 500
    assert all(5 <= len(sentence) <= 45 for sentence in sentences[:-1])
