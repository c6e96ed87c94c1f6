import json
import sys

import pytest
import torch

from benchmarks import contextualizer


def test_the_candidates_are_compared_at_each_size(tmp_path, monkeypatch):
    out = tmp_path / "contextualizer-cpu.json"
    sizes = ["--sizes", "8x4", "12x5", "--batch-size", "3", "--length", "4"]
    arguments = [*sizes, "--repeats", "2", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["contextualizer", *arguments])
    contextualizer.main()
    rows = json.loads(out.read_text())["timings"]
    found = [name.rsplit(", ", 2) for name in rows]
    assert {(dtype, cells) for _, dtype, cells in found} == {
        (dtype, f"{cells} cells") for dtype in ("float32", "bfloat16") for cells in (8, 12)
    }
    names = list(dict.fromkeys(name for name, *_ in found))
    assert names[0] == "ElmoLstm"
    assert contextualizer.OURS in names
    assert len(rows) == 4 * len(names)
    for name, dtype, cells in found:
        row, elmo = rows[f"{name}, {dtype}, {cells}"], rows[f"ElmoLstm, float32, {cells}"]
        ratio = elmo["median_seconds"] / row["median_seconds"]
        assert abs(row["speedup over reference"] - ratio) < 1e-9 * ratio
        assert row["words_per_second"] * row["median_seconds"] == pytest.approx(3 * 4)
    assert out.with_suffix(".png").exists()


def test_every_candidate_computes_the_gradients_of_its_parameters():
    steps = contextualizer.build_candidates(3, 4, 5, 6, torch.device("cpu"), torch.float32)
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


def test_the_precision_can_be_chosen(tmp_path, monkeypatch):
    out = tmp_path / "contextualizer-cpu.json"
    sizes = ["--sizes", "8x4", "--batch-size", "3", "--length", "4", "--dtypes", "bfloat16"]
    arguments = [*sizes, "--repeats", "1", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["contextualizer", *arguments])
    contextualizer.main()
    rows = json.loads(out.read_text())["timings"]
    assert all(", bfloat16, 8 cells" in name for name in rows)
