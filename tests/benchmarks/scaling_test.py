import json
import sys

import pytest

from benchmarks import scaling
from benchmarks.data_parallel import time_processes


def run(monkeypatch, out, *arguments):
    common = ["--repeats", "2", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["scaling", *arguments, *common])
    scaling.main()


def test_the_layers_against_the_vocabulary_and_the_batch(tmp_path, monkeypatch):
    layers = ["--layers", "semfit", "adaptive_softmax", "sampled_softmax", "softmax"]
    sizes = ["--vocabularies", "100", "3000", "--vocabulary", "200", "--input-dim", "16"]
    batches = ["--batch-sizes", "2", "4", "--batch-size", "2", "--num-words", "3"]
    # 3,000 vectors of 16 dimensions and their gradients take 408 kB, and the scores 216 kB.
    bound = ["--memory-gb", "0.0005"]
    arguments = ["--parts", "vocabulary", "batch", *layers, *sizes, *batches, *bound]
    run(monkeypatch, tmp_path / "scaling-cpu.json", *arguments)
    vocabulary = json.loads((tmp_path / "scaling_vocabulary-cpu.json").read_text())
    assert list(vocabulary["left_out"]) == ["softmax, 3,000"]
    assert set(vocabulary["timings"]) == {
        f"{layer}, {size}" for layer in layers[1:] for size in ("100", "3,000")
    } - {"softmax, 3,000"}
    batch = json.loads((tmp_path / "scaling_batch-cpu.json").read_text())
    assert batch["sizes"] == {
        "6": {"vocabulary": 200, "words": 6},
        "12": {"vocabulary": 200, "words": 12},
    }
    assert len(batch["timings"]) == 8
    assert (tmp_path / "scaling_batch-cpu.png").exists()


def test_one_process_against_two(tmp_path, monkeypatch):
    sizes = ["--process-vocabulary", "100", "--hidden-dim", "8", "--batch-size", "8"]
    run(monkeypatch, tmp_path / "scaling.json", "--parts", "processes", "--num-words", "9", *sizes)
    rows = json.loads((tmp_path / "scaling_processes.json").read_text())["timings"]
    assert list(rows) == [
        "semfit, 1 process",
        "semfit, 2 processes",
        "adaptive_softmax, 1 process",
        "adaptive_softmax, 2 processes",
    ]
    one, two = rows["semfit, 1 process"], rows["semfit, 2 processes"]
    parameters = 4 * 8 * (300 + 8 + 2) + 300 * 8 + 300
    assert (one["allreduce_bytes"], two["allreduce_bytes"]) == (0, 4 * parameters)
    assert two["words_per_second"] == pytest.approx(2 * 8 * 9 / two["median_seconds"])


def test_no_prediction_without_a_measurement(tmp_path, monkeypatch, capsys):
    missing = tmp_path / "models-cpu.json"
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path / "scaling.json", "--models", str(missing))
    assert f"{missing} does not exist. Run benchmarks.models first" in capsys.readouterr().err


def test_a_process_that_fails_is_no_endless_wait():
    with pytest.raises(RuntimeError, match="A process failed; its error is above."):
        time_processes((["no such layer"], 3, 8, 2, 3), num_processes=2, repeats=1)
