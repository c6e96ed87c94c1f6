import json
import sys

import pytest
import torch

from benchmarks import models, semfit_head
from benchmarks.language_models import (
    build_batch,
    build_language_model,
    training_step,
)

CPU = torch.device("cpu")
# More than the cutoffs of the adaptive softmax.
VOCABULARY = 12_000


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "models-cpu.json"
    arguments = ["--batch-size", "8", "--num-words", "4", "--vocabulary", str(VOCABULARY)]
    arguments += ["--size", "small", "--repeats", "2", "--device", "cpu"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["models", *arguments, "--out", str(out)])
        models.main()
    return out


def test_the_models_are_compared(measured):
    results = json.loads(measured.read_text())
    rows = results["timings"]
    assert list(rows) == models.CANDIDATES
    for name, row in rows.items():
        assert row["words_per_second"] == pytest.approx(8 * 4 / row["median_seconds"])
        model = build_language_model(name, VOCABULARY, "small")
        assert row["parameters"] == sum(parameter.numel() for parameter in model.parameters())


def test_the_plot_has_the_names_of_the_paper():
    titles = [
        models.title_of(name)
        for name in ("elmo", "elmo_semfit, bfloat16", "elmo, sparse gradients, bfloat16")
    ]
    assert titles == ["ELMo", "ELMo-S in bfloat16", "ELMo, sparse gradients in bfloat16"]


def test_the_two_elmos_share_their_input_and_output():
    built = models.build_all(list(models.LANGUAGE_MODELS), VOCABULARY, "small", CPU)
    elmo, ours = built["elmo"], built["elmo, our contextualizer"]
    assert ours._head is elmo._head
    assert ours._text_field_embedder is elmo._text_field_embedder
    assert ours._contextualizer is not elmo._contextualizer


@pytest.mark.parametrize("name", models.LANGUAGE_MODELS)
def test_a_step_moves_every_parameter_and_leaves_no_gradient(name):
    torch.manual_seed(1)
    model = build_language_model(name, VOCABULARY, "small")
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for _ in range(3):
        training_step(model, 20, VOCABULARY, CPU)(16)()
    moved = {
        name
        for name, parameter in model.named_parameters()
        if not torch.equal(parameter, before[name])
    }
    assert moved == set(before)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_batch_has_the_boundaries_as_words():
    model = build_language_model("elmo", VOCABULARY, "small")
    source = build_batch(model, 3, 5, VOCABULARY, CPU)
    assert source["characters"]["elmo_tokens"].shape == (3, 7, 50)
    assert source["tokens"]["tokens"].shape == (3, 7)
    assert source["tokens"]["tokens"].min() >= 1
    assert model(source)["batch_weight"] == 3 * 6


@pytest.mark.parametrize("config", ["elmo_semfit", "elmo_semfit_contrastive"])
def test_the_heads_part_of_a_step(config, tmp_path, monkeypatch):
    out = tmp_path / "semfit_head-cpu.json"
    arguments = ["--batch-size", "2", "--num-words", "4", "--size", "small"]
    arguments += ["--repeats", "2", "--device", "cpu", "--out", str(out), "--config", config]
    monkeypatch.setattr(sys, "argv", ["semfit_head", *arguments])
    semfit_head.main()
    rows = json.loads(out.read_text())["timings"]
    assert list(rows) == ["step", "step, sum as loss", "head alone"]
    part = rows["head alone"]["median_seconds"] / rows["step"]["median_seconds"]
    assert rows["head alone"]["share_of_step"] == pytest.approx(part)


def test_the_head_alone_predicts_what_the_model_predicts():
    """Its metrics count each direction's targets, and their directions are those of the model's."""
    model = build_language_model("elmo_semfit", 100, "small")
    source = build_batch(model, 2, 4, 100, CPU)
    model(source)
    expected = model.get_metrics(reset=True)["baseline_cosine"]
    semfit_head.head_alone(model, source)()
    found = model.get_metrics(reset=True)["baseline_cosine"]
    assert found == pytest.approx(expected, rel=1e-5)
