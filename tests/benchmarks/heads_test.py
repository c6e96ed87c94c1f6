import json
import statistics
import sys

import pytest

from benchmarks import heads


def test_the_layers_are_compared(tmp_path, monkeypatch):
    out = tmp_path / "heads-cpu.json"
    sizes = ["--vocabularies", "100", "3000", "--hidden-dim", "16", "--num-words", "3"]
    layers = ["--layers", "semfit", "adaptive_softmax", "sampled_softmax, sparse", "softmax"]
    # The softmax over 3,000 words has 51,000 parameters, which with their gradients do not fit.
    bounds = ["--batch-size", "4", "--memory-gb", "0.0004", "--max-words", "48"]
    arguments = [*sizes, *layers, *bounds, "--repeats", "2", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["heads", *arguments])
    heads.main()
    results = json.loads(out.read_text())
    rows = results["timings"]
    assert "softmax, 100" in rows
    assert "softmax, 3,000" not in rows
    assert list(results["left_out"]) == ["softmax, 3,000"]
    lstm = 4 * 16 * (300 + 16 + 2)
    assert rows["semfit, 3,000"]["parameters"] == lstm + 300 * 16 + 300
    assert rows["softmax, 100"]["parameters"] == lstm + 100 * 16 + 100
    for name, row in rows.items():
        use = results["memory"][name]
        assert row["largest_batch"] == use["largest_batch"]
        assert row["timed_batch"] == max(min(row["largest_batch"], 16), 4)
        seconds = results["larger_seconds"].get(f"{name}, larger", [row["median_seconds"]])
        per_million = statistics.median(seconds) * 1e6 / (row["timed_batch"] * 3)
        assert row["seconds_per_million_words"] == pytest.approx(per_million)
    assert out.with_suffix(".png").exists()
