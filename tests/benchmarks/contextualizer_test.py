import json
import sys

import torch

from benchmarks import contextualizer


def test_the_candidates_are_compared_at_each_size(tmp_path, monkeypatch):
    out = tmp_path / "contextualizer-cpu.json"
    sizes = ["--sizes", "8x4", "12x5", "--batch-size", "3", "--length", "4"]
    arguments = [*sizes, "--repeats", "2", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["contextualizer", *arguments])
    contextualizer.main()
    rows = json.loads(out.read_text())["timings"]
    names = ["ElmoLstm", "torch.nn.LSTM", contextualizer.OURS, "matrix products"]
    assert list(rows) == [f"{name}, {cells} cells" for cells in (8, 12) for name in names]
    for cells in (8, 12):
        ours, elmo = (rows[f"{name}, {cells} cells"] for name in (contextualizer.OURS, "ElmoLstm"))
        ratio = elmo["median_seconds"] / ours["median_seconds"]
        assert abs(ours["speedup over reference"] - ratio) < 1e-9 * ratio
    assert out.with_suffix(".png").exists()


def test_every_candidate_computes_the_gradients_of_its_parameters():
    steps = contextualizer.build_candidates(3, 4, 5, 6, torch.device("cpu"), None)
    for name, step in steps.items():
        step()
        if name == "matrix products":
            continue
        module = next(
            cell.cell_contents
            for cell in step.__closure__
            if isinstance(cell.cell_contents, torch.nn.Module)
        )
        assert all(parameter.grad is not None for parameter in module.parameters())


def test_autocast_can_be_asked_for(tmp_path, monkeypatch):
    out = tmp_path / "contextualizer-cpu.json"
    sizes = ["--sizes", "8x4", "--batch-size", "3", "--length", "4", "--autocast", "bfloat16"]
    arguments = [*sizes, "--repeats", "1", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["contextualizer", *arguments])
    contextualizer.main()
    assert json.loads(out.read_text())["autocast"] == "torch.bfloat16"
