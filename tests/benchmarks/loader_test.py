import json
import sys

import pytest

from benchmarks import loader


def test_the_loaders_are_timed_and_compared(tmp_path, monkeypatch):
    out = tmp_path / "results" / "loader.json"
    sizes = ["--num-words", "600", "--num-types", "300", "--batch-size", "2"]
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
    one, two = speeds["fasttext, workers: 1"], speeds["fasttext, workers: 2"]
    assert results["words_per_second_8_workers_extrapolated"] == pytest.approx(7 * two - 6 * one)
    (seconds,) = results["training_step_seconds"]
    of_step = results["words_per_second_training_step"]
    assert of_step == pytest.approx(loader.UNIT / seconds)
    assert results["training_steps_per_worker"] == pytest.approx(one / of_step)


def test_the_text_has_as_many_words_as_asked_for(tmp_path):
    loader.write_text(tmp_path / "text.txt", 2000, 500)
    sentences = [line.split() for line in (tmp_path / "text.txt").read_text().splitlines()]
    words = [word for sentence in sentences for word in sentence]
    assert len(words) == 2000
    assert 100 < len(set(words)) <= 500
    assert all(5 <= len(sentence) <= 45 for sentence in sentences[:-1])
