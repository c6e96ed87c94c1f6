import shutil
from pathlib import Path

from allennlp.models import load_archive

from experiments import models_table
from tests import FIXTURES


def test_a_model_is_measured(lm_archive, tmp_path, monkeypatch):
    monkeypatch.setattr(models_table, "BATCH_SIZE", 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(models_table, "REPEATS", 2)
    shutil.copytree(Path(lm_archive).parent, tmp_path / "tiny")
    (tmp_path / "unfinished").mkdir()
    shutil.copy(FIXTURES / "corpus" / "heldout.txt", tmp_path / "heldout.txt")
    (row,) = models_table.compare(tmp_path)
    model = load_archive(lm_archive).model
    assert row["trainable_parameters"] == sum(p.numel() for p in model.parameters())
    assert 0.1 < row["peak_memory_gb"] < 10
    speed = row["words_per_second"]
    assert 0 < speed["min"] <= speed["median"] <= speed["max"]
    assert models_table.describe([row]).endswith(
        f"| cosine {row['cosine']:.3f}, constant {row['constant_cosine']:.3f} |"
    )
    # What is measured is a training step.
    archive = load_archive(lm_archive)
    heldout = models_table.read(archive, FIXTURES / "corpus" / "heldout.txt", 6)
    models_table.training_steps(archive, heldout)()
    assert all(parameter.grad is not None for parameter in archive.model.parameters())


def test_the_perplexity_is_that_of_a_word():
    row = {
        "model": "elmo",
        "trainable_parameters": 1_250_000,
        "peak_memory_gb": 1.5,
        "words_per_second": {"median": 1234.5},
        "perplexity": 99.96,
    }
    assert models_table.describe([row]).splitlines()[-1] == (
        "| `elmo` | 1.2 M | 1,234 | 1.50 GB | perplexity 100.0 |"
    )
