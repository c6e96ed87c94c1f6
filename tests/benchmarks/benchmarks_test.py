"""A small run of each benchmark but `first_vector`."""

import json
import statistics
import sys

import pytest
import torch

from benchmarks import (
    contextualizer,
    fasttext_memory,
    heads,
    loader,
    models,
    ner_step,
    output_layers,
    semfit_head,
    training_loop,
)
from benchmarks.models import build_batch, build_language_model, training_step

CPU = torch.device("cpu")
# More than the cutoffs of the adaptive softmax.
VOCABULARY = 12_000
MODELS = f"--size small --vocabulary {VOCABULARY}"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs a benchmark for one round and returns what it wrote."""

    def run(module, arguments):
        out = tmp_path / "results" / "out.json"
        arguments = [*arguments.split(), "--repeats", "1", "--out", str(out)]
        if module not in (fasttext_memory, loader):
            arguments += ["--device", "cpu"]
        monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
        module.main()
        results = json.loads(out.read_text())
        for row in results["timings"].values():
            assert 0 < row["min_seconds"] <= row["median_seconds"] <= row["max_seconds"]
        return results

    return run


@pytest.mark.parametrize(
    ("module", "arguments", "num_candidates"),
    [
        (models, f"--batch-size 8 --num-words 4 {MODELS} --candidates elmo elmo_semfit", 2),
        (contextualizer, "--sizes 8x4 --batch-size 3", 2 * 5),
        (semfit_head, "--batch-size 2 --num-words 4 --size small", 2),
        (loader, "--num-words 12000 --step --size small", 3 * 3),
        (ner_step, "--size small --batch-size 3 --num-words 5", 2),
        (training_loop, "--batch-size 3 --num-batches 4", 2),
    ],
    ids=["models", "contextualizer", "semfit_head", "loader", "ner_step", "training_loop"],
)
def test_a_small_run(module, arguments, num_candidates, run, monkeypatch):
    monkeypatch.setattr(loader, "NUM_TYPES", 1000)
    monkeypatch.setattr(loader, "BATCHES_AT_ONCE", 2)
    assert len(run(module, arguments)["timings"]) == num_candidates


def test_heads_that_do_not_fit_are_left_out(run):
    # 3,000 vectors of 16 dimensions and their gradients take 408 kB, and the scores 216 kB.
    options = "--hidden-dim 16 --batch-size 2 --num-words 3 --memory-gb 0.0005 --max-words 24"
    results = run(heads, f"--alone --vocabularies 100 3000 --layers semfit softmax {options}")
    assert list(results["left_out"]) == ["softmax, 3,000"]
    rows = results["timings"]
    assert rows["semfit, 3,000"]["parameters"] == 300 * 16 + 300
    for name, row in rows.items():
        assert row["timed_batch"] == max(min(row["largest_batch"], 8), 2)
        seconds = results["larger_seconds"].get(f"{name}, larger", [row["median_seconds"]])
        per_million = statistics.median(seconds) * 1e6 / (row["timed_batch"] * 3)
        assert row["seconds_per_million_words"] == pytest.approx(per_million)


def test_fasttext_memory(run, monkeypatch):
    # The others take the same way, and a spawned worker takes long to import everything.
    ours = {fasttext_memory.REFERENCE: fasttext_memory.CANDIDATES[fasttext_memory.REFERENCE]}
    monkeypatch.setattr(fasttext_memory, "CANDIDATES", ours)
    monkeypatch.setattr(fasttext_memory, "SLOW", set(ours))
    monkeypatch.setattr(fasttext_memory, "NUM_WORKERS", 1)
    results = run(fasttext_memory, "--num-words 300 --num-buckets 1000 --num-lookups 50")
    (row,) = results["timings"].values()
    assert 0 < row["resident_file_bytes"] <= results["file_bytes"] + 2**13
    assert 0 < row["forked_worker_bytes"] < 10**8


@pytest.mark.parametrize("name", [*models.CANDIDATES[2:5], "elmo, sparse gradients"])
def test_a_step_of_a_model_moves_every_parameter_and_leaves_no_gradient(name):
    torch.manual_seed(1)
    model = build_language_model(name, VOCABULARY, "small")
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for _ in range(3):
        training_step(name, model, 20, VOCABULARY, CPU)(16)()
    for key, parameter in model.named_parameters():
        assert not torch.equal(parameter, before[key]), key
        assert parameter.grad is None


def test_the_head_alone_predicts_what_the_model_predicts():
    """Its metrics count each direction's targets, and their directions are those of the model's."""
    model = build_language_model("elmo_semfit", 100, "small")
    source = build_batch(model, 2, 4, 100, CPU)
    model(source)
    expected = model.get_metrics(reset=True)["baseline_cosine"]
    semfit_head.head_alone(model, source)()
    found = model.get_metrics(reset=True)["baseline_cosine"]
    assert found == pytest.approx(expected, rel=1e-5)


def test_cut_cross_entropy_is_the_softmax():
    torch.manual_seed(1)
    head = output_layers.build_output_layer("cut-cross-entropy", 13, 5).double()
    context = torch.randn(7, 5, dtype=torch.double)
    classes = torch.randint(13, (7,))
    # The formula, without the minutes that compiling it takes.
    with torch.compiler.set_stance("force_eager"):
        loss = head(context, classes)
    expected = torch.nn.functional.cross_entropy(context @ head.weight.T, classes, reduction="sum")
    # It computes the logarithms in single precision.
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    ("layer", "num_classes", "millions"),
    [("semfit", 800_000, 20), ("adaptive_softmax", 40_000, 106)]
    + [("adaptive_softmax", 800_000, 265), ("adaptive_softmax", 2_000_000, 420)],
)
def test_the_model_has_the_parameters_of_table_5(layer, num_classes, millions):
    with torch.device("meta"):
        model = heads.SpeedTableModel(layer, num_classes, 2048)
    number = sum(parameter.numel() for parameter in model.parameters())
    assert number / 1e6 == pytest.approx(millions, rel=0.05)
