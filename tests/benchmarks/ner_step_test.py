import json
import sys

from benchmarks import ner_step


def test_the_steps_are_timed_and_compared(tmp_path, monkeypatch):
    out = tmp_path / "results" / "ner_step.json"
    sizes = ["--cell-size", "8", "--projection-dim", "4", "--batch-size", "3", "--num-words", "5"]
    arguments = [*sizes, "--repeats", "2", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["ner_step", *arguments])
    ner_step.main()
    results = json.loads(out.read_text())
    assert results["cell_size"] == 8
    timings = results["timings"]
    assert list(timings) == [
        "elmo",
        "elmo_semfit",
        "elmo_semfit: embedder",
        "elmo_semfit: language model",
    ]
    for row in timings.values():
        assert 0 < row["min_seconds"] <= row["median_seconds"] <= row["max_seconds"]
        assert row["speedup over elmo"] == timings["elmo"]["median_seconds"] / row["median_seconds"]
