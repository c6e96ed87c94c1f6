"""Of the directories that AllenNLP's trainer writes."""

import json
import shlex

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.commands.show_training import describe_training

COSINES = {
    "training_cosine": 0.5,
    "training_baseline_cosine": 0.25,
    "validation_cosine": 0.625,
    "validation_baseline_cosine": 0.375,
}
PERPLEXITIES = {"training_perplexity": 1234.5, "validation_perplexity": 2345.25}
HEADS = {"semfit": COSINES, "softmax": PERPLEXITIES, "contrastive": {**COSINES, **PERPLEXITIES}}


def write_epochs(directory, *epochs):
    for number, metrics in enumerate(epochs):
        content = {"epoch": number, "training_loss": 9.0, **metrics}
        (directory / f"metrics_epoch_{number}.json").write_text(json.dumps(content))


def test_the_metrics_of_each_head(tmp_path):
    for head, metrics in HEADS.items():
        (tmp_path / head).mkdir()
        write_epochs(tmp_path / head, metrics, metrics)
    shown = {head: describe_training(str(tmp_path / head)).splitlines() for head in HEADS}
    cosine = f"{0.5:15.4f}  {0.625:15.4f}  {0.375:15.4f}"
    perplexity = f"{'1,234.50':>15}  {'2,345.25':>15}"
    for head, lines in shown.items():
        for row, is_expected in ((cosine, head != "softmax"), (perplexity, head != "semfit")):
            found = [line for line in lines if line.endswith(f"  {row}")]
            assert found == ([f"      0  {row}", f"      1  {row}"] if is_expected else [])
        assert any("The baseline predicts" in line for line in lines) == (head != "softmax")
    batch = "Perplexity among the words of a batch (lower is better):"
    assert batch in shown["contrastive"]
    assert "models of the same batch size" in "\n".join(shown["contrastive"])
    assert batch not in shown["softmax"]
    assert "models of the same vocabulary" in "\n".join(shown["softmax"])
    assert "  epoch  " + f"{'training':>15}  {'validation':>15}" in shown["softmax"]


def test_the_margin_over_the_baseline_is_that_of_the_archived_epoch(tmp_path):
    archived = {**COSINES, "best_epoch": 1}
    # By another metric.
    better = {**archived, "validation_cosine": 0.75}
    write_epochs(tmp_path, better, archived, better)
    assert "The margin over the baseline, 0.250, was" in describe_training(str(tmp_path))


def test_a_high_baseline_is_not_praised(tmp_path):
    write_epochs(tmp_path, {"validation_cosine": 0.97, "validation_baseline_cosine": 0.94})
    shown = describe_training(str(tmp_path))
    assert "learned from context" not in shown
    assert "WARNING: a baseline above 0.9 means" in shown


def test_a_model_below_its_baseline_is_not_praised(tmp_path):
    write_epochs(tmp_path, {"validation_cosine": 0.51, "validation_baseline_cosine": 0.54})
    shown = describe_training(str(tmp_path))
    assert "no better than the baseline" in shown
    assert "margin" not in shown


@pytest.mark.parametrize("is_list", [False, True])
def test_the_next_commands_can_be_pasted(tmp_path, is_list):
    run_directory = tmp_path / "my हिन्दी run"
    run_directory.mkdir()
    write_epochs(run_directory, COSINES)
    archive, text = run_directory / "model.tar.gz", run_directory / "the text.txt"
    for file in (archive, text):
        file.touch()
    config = {"validation_data_path": [str(text)] if is_list else str(text)}
    (run_directory / "config.json").write_text(json.dumps(config))
    shown = describe_training(str(run_directory)).splitlines()
    (embed,) = (shlex.split(line) for line in shown if " embed " in line)
    expected = ["embed", str(archive), "TEXT" if is_list else str(text), "vectors.h5"]
    assert embed[1:5] == expected
    (embedder,) = (json.loads(line) for line in shown if '"type": "elmo_semfit"' in line)
    assert embedder["archive_file"] == str(archive)
    assert sum(str(archive) in line for line in shown) == 6
    (export,) = (shlex.split(line) for line in shown if " export-model " in line)
    assert export[1:4] == ["export-model", str(archive), str(run_directory / "model")]
    (run_directory / "model").mkdir()
    assert "export-model" not in describe_training(str(run_directory))


def test_a_training_that_was_interrupted_can_be_resumed(tmp_path):
    write_epochs(tmp_path, COSINES)
    resumes = "started it with --recover.\n"
    assert describe_training(str(tmp_path)).endswith(resumes)
    # AllenNLP makes it of the best epoch until then.
    (tmp_path / "model.tar.gz").touch()
    shown = describe_training(str(tmp_path))
    assert resumes in shown
    assert "The model of the best epoch: " in shown
    (tmp_path / "metrics.json").touch()
    assert resumes not in describe_training(str(tmp_path))


def test_an_epoch_without_training_metrics_has_blanks(tmp_path):
    resumed = {"validation_perplexity": 20.0}
    write_epochs(tmp_path, resumed, PERPLEXITIES, resumed)
    shown = describe_training(str(tmp_path)).splitlines()
    for epoch in (0, 2):
        assert f"  {epoch:5}  {'':15}  {'20.00':>15}" in shown


@pytest.mark.parametrize("name", ["metrics_epoch_0.json", "config.json"])
def test_a_file_that_is_not_complete_is_named(tmp_path, name):
    write_epochs(tmp_path, PERPLEXITIES)
    (tmp_path / name).write_text('{"a')
    with pytest.raises(ConfigurationError, match=f"{name}: it is not JSON .*; if it was killed"):
        describe_training(str(tmp_path))


def test_an_epoch_of_a_task_or_of_a_head_with_other_metrics(tmp_path):
    write_epochs(tmp_path, {"training_accuracy": 0.5})
    with pytest.raises(ConfigurationError, match="its metrics have no cosine and no perplexity"):
        describe_training(str(tmp_path))
