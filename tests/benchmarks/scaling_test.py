import json
import sys

from benchmarks import scaling


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
