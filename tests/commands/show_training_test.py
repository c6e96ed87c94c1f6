"""Of the directories that AllenNLP's trainer writes; train_test.py has the command as a process."""

import json
import shlex
import sys
import xml.etree.ElementTree
from functools import partial
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.commands import training_plot
from allennlp_semfit.commands.show_training import describe_training
from allennlp_semfit.commands.training_plot import read_progress
from tests.commands import running

run = partial(running.run, "show-training")
error_of = partial(running.error_of, "show-training")

COSINES = {
    "training_cosine": 0.5,
    "training_baseline_cosine": 0.25,
    "validation_cosine": 0.625,
    "validation_baseline_cosine": 0.375,
}
PERPLEXITIES = {"training_perplexity": 1234.5, "validation_perplexity": 2345.25}
HEADS = {
    "semfit": COSINES,
    "softmax": PERPLEXITIES,
    "contrastive": {**COSINES, **PERPLEXITIES},
}
LOG = """\
t - INFO - allennlp.training.gradient_descent_trainer - Epoch 0/1
t - INFO - tqdm -   0%|          | 0/8 [00:00<?, ?it/s]
t - INFO - tqdm - loading instances: 25955it [01:42, 105.74it/s]
t - INFO - tqdm - cosine: 0.1000, baseline_cosine: 0.7000, batch_loss: -0.7, loss: -0.7 ||:  12%|#         | 1/8 [00:10<01:00,  2.82it/s]
t - INFO - tqdm - cosine: -0.2000, baseline_cosine: 0.7000, batch_loss: -0.7, loss: -0.7 ||: 100%|##########| 8/8 [00:10<00:00,  2.82it/s]
t - INFO - allennlp.training.gradient_descent_trainer - Validating
t - INFO - tqdm - cosine: 0.9900, baseline_cosine: 0.7000, batch_loss: -0.7, loss: -0.7 ||:  50%|#####     | 1/2 [00:00<00:00,  2.82it/s]
t - INFO - allennlp.training.gradient_descent_trainer - Epoch 1/1
t - INFO - tqdm - cosine: 0.3000, baseline_cosine: 0.7000, batch_loss: -0.7, loss: -0.7 ||:  50%|#####     | 4/8 [00:10<01:00,  2.82it/s]
t - INFO - tqdm - cosine: 0.4000, baseline_cosine: 0.7000, batch_loss: -0.7, loss: -0.7 ||:  75%|#######5  | 6/8 [00:10<01:00,  2.82it/s]
t - INFO - allennlp.training.gradient_descent_trainer - Epoch 1/1
t - INFO - tqdm - cosine: 0.3500, baseline_cosine: 0.7000, batch_loss: -0.7, loss: -0.7 ||:  50%|#####     | 4/8 [00:10<01:00,  2.82it/s]
t - INFO - tqdm - cosine: 0.5000, baseline_cosine: 0.7000, batch_loss: -0.7, loss: -0.7 ||: : 7it [00:10<01:00,  2.82it/s]
"""  # noqa: E501


def write_epochs(directory, *epochs):
    for number, metrics in enumerate(epochs):
        content = {"epoch": number, "training_loss": 9.0, **metrics}
        (directory / f"metrics_epoch_{number}.json").write_text(json.dumps(content))


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved."""
    from matplotlib.figure import Figure

    saved = []
    savefig = Figure.savefig

    def save(figure, *args, **kwargs):
        saved.append(figure)
        savefig(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", save)
    return saved


def lines_of(axes):
    """The points of each line by its label; those of the log are cut into epochs."""
    return {line.get_label(): list(map(tuple, line.get_xydata())) for line in axes.get_lines()}


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
    batch = "Perplexity among the words of a batch, which is better the lower it is:"
    assert batch in shown["contrastive"]
    assert "models of the same batch size" in "\n".join(shown["contrastive"])
    assert batch not in shown["softmax"]
    assert "models of the same vocabulary" in "\n".join(shown["softmax"])
    assert "  epoch  " + f"{'training':>15}  {'held out':>15}" in shown["softmax"]


def test_the_margin_over_the_baseline_is_told(tmp_path):
    write_epochs(tmp_path, {**COSINES, "validation_cosine": 0.5}, COSINES)
    assert "The margin over the baseline, 0.250, was" in describe_training(str(tmp_path))


def test_a_high_baseline_is_not_praised(tmp_path):
    write_epochs(tmp_path, {"validation_cosine": 0.97, "validation_baseline_cosine": 0.94})
    config = {
        "train_data_path": "my text/train",
        "dataset_reader": {
            "token_indexers": {"fasttext": {"type": "fasttext", "model_path": "my text/v.bin"}}
        },
        "model": {"head": {"type": "semfit", "embedding_dim": 30}},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    shown = describe_training(str(tmp_path))
    assert "learned from context" not in shown
    assert "WARNING: a baseline above 0.9 means" in shown
    (command,) = (shlex.split(line) for line in shown.splitlines() if "train-fasttext" in line)
    arguments = running.parse(*command[1:])
    assert (arguments.corpus, arguments.out_path) == (["my text/train"], "my text/v.bin")
    assert (arguments.dim, arguments.epoch, arguments.force) == (30, 200, True)
    # These are not fastText's.
    config["model"]["head"]["target_indexer"] = "tokens"
    (tmp_path / "config.json").write_text(json.dumps(config))
    shown = describe_training(str(tmp_path))
    assert "WARNING: a baseline above 0.9" in shown
    assert "train-fasttext" not in shown


def test_a_model_below_its_baseline_is_not_praised(tmp_path):
    write_epochs(tmp_path, {"validation_cosine": 0.51, "validation_baseline_cosine": 0.54})
    shown = describe_training(str(tmp_path))
    assert "no better than the baseline" in shown
    assert "margin" not in shown


@pytest.mark.parametrize("is_list", [False, True])
def test_the_next_commands_can_be_pasted(tmp_path, is_list):
    run_directory = tmp_path / "my run"
    run_directory.mkdir()
    write_epochs(run_directory, COSINES)
    archive, text = run_directory / "model.tar.gz", run_directory / "held out.txt"
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
    (export,) = (shlex.split(line) for line in shown if " export-model " in line)
    assert export[1:4] == ["export-model", str(archive), str(run_directory / "model")]


def test_an_exported_model_comes_first(tmp_path):
    write_epochs(tmp_path, COSINES)
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (tmp_path / "model.tar.gz", folder / "config.json"):
        file.touch()
    shown = describe_training(str(tmp_path))
    assert f"which you can move and share: {folder}\n" in shown
    assert f" embed {folder} " in shown
    assert json.dumps(str(folder)) in shown
    assert "export-model" not in shown


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


@pytest.mark.parametrize("metrics", [None, {"training_accuracy": 0.5}])
def test_a_directory_without_a_language_model(tmp_path, metrics):
    if metrics:
        write_epochs(tmp_path, metrics)
    with pytest.raises(ConfigurationError) as error:
        describe_training(str(tmp_path))
    assert str(error.value) == (
        f"{tmp_path} holds no completed epoch of a language model. Give the directory that "
        "`allennlp train -s` was given."
    )


@pytest.mark.parametrize("log", ["out.log", "out_worker0.log"])
def test_the_metrics_within_epochs_are_those_of_the_log(tmp_path, log):
    assert read_progress(str(tmp_path)) == {}
    (tmp_path / log).write_text(LOG)
    progress = read_progress(str(tmp_path))
    # The resumed epoch has its last value at each place.
    assert progress["cosine"] == [(0.125, 0.1), (1.0, -0.2), (1.5, 0.35), (1.75, 0.4)]
    assert progress["baseline_cosine"] == [(place, 0.7) for place, _ in progress["cosine"]]


def test_the_log_of_a_training(lm_archive):
    directory = Path(lm_archive).parent
    progress = read_progress(str(directory))["cosine"]
    epochs = [
        json.loads((directory / f"metrics_epoch_{number}.json").read_text()) for number in (0, 1)
    ]
    # AllenNLP always logs the end of an epoch.
    for number, epoch in enumerate(epochs, 1):
        assert dict(progress)[number] == pytest.approx(epoch["training_cosine"], abs=5.1e-5)
    assert max(place for place, _ in progress) == 2


@pytest.mark.parametrize(
    ("head", "axis_labels"),
    [
        ("semfit", ["mean cosine"]),
        ("softmax", ["perplexity (log scale)"]),
        ("contrastive", ["mean cosine", "perplexity (log scale)"]),
    ],
)
def test_the_plot_has_the_metrics(tmp_path, figures, head, axis_labels):
    later = {name: value + 0.125 for name, value in HEADS[head].items()}
    write_epochs(tmp_path, HEADS[head], later)
    (tmp_path / "out.log").write_text(LOG.replace("cosine: -", "cosine: "))
    run(tmp_path, "--plot", tmp_path / "curve.png")
    (figure,) = figures
    assert [axes.get_ylabel() for axes in figure.axes] == axis_labels
    assert {axes.get_xlabel() for axes in figure.axes} == {"epochs"}
    for axes in figure.axes:
        name = axes.get_ylabel().replace("mean ", "").partition(" ")[0]
        lines = lines_of(axes)
        for label, key in (("training, whole epoch", "training"), ("held out", "validation")):
            key = f"{key}_{name}"
            assert lines[label] == [(1, HEADS[head][key]), (2, later[key])]
        if name == "cosine":
            assert lines["training, since the epoch's start"] == [(0.125, 0.1), (1.0, 0.2)]
            assert [(1.5, 0.35), (1.75, 0.4)] in lines.values()
            assert {y for _, y in lines["baseline, held out"]} == {0.375 + 0.125}
        else:
            assert axes.get_yscale() == "log"
            assert not any("baseline" in label for label in lines)
    # The lines can be told apart without colours.
    styles = {(line.get_linestyle(), line.get_marker()) for line in figure.axes[0].get_lines()}
    assert len(styles) == len({label for label in lines_of(figure.axes[0]) if label[0] != "_"})
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == [label for label in lines_of(figure.axes[0]) if label[0] != "_"]


def test_a_value_that_is_not_finite_is_left_out(tmp_path, figures):
    write_epochs(tmp_path, {**PERPLEXITIES, "training_perplexity": float("inf")}, PERPLEXITIES)
    run(tmp_path, "--plot", tmp_path / "curve.png")
    lines = lines_of(figures[0].axes[0])
    assert lines["training, whole epoch"] == [(2, 1234.5)]
    assert lines["held out"] == [(1, 2345.25), (2, 2345.25)]


@pytest.mark.parametrize(
    ("name", "start"), [("c.png", b"\x89PNG"), ("c.SVG", b"<?xml"), ("new/c.pdf", b"%PDF")]
)
def test_the_suffix_is_the_format(tmp_path, capsys, name, start):
    write_epochs(tmp_path, COSINES)
    run(tmp_path, "--plot", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    if start == b"<?xml":
        xml.etree.ElementTree.parse(tmp_path / name)
    assert describe_training(str(tmp_path)) == capsys.readouterr().out


def test_a_plot_is_replaced_only_with_force(tmp_path):
    write_epochs(tmp_path, COSINES)
    out = tmp_path / "curve.png"
    out.write_text("mine")
    with pytest.raises(SystemExit, match="it exists; give another name, or --force"):
        run(tmp_path, "--plot", out)
    assert out.read_text() == "mine"
    run(tmp_path, "--plot", out, "--force")
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["curve", "curve.jpg", ".png"])
def test_another_suffix_is_an_error(tmp_path, capsys, name):
    write_epochs(tmp_path, COSINES)
    assert error_of(tmp_path, "--plot", tmp_path / name) == (
        f"show-training: --plot: {tmp_path / name}; the name of the file must end in one of "
        ".png, .svg, .pdf"
    )
    # Before anything is shown.
    assert capsys.readouterr().out == ""


def test_without_matplotlib(tmp_path, monkeypatch):
    write_epochs(tmp_path, COSINES)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run(tmp_path)
    assert error_of(tmp_path, "--plot", tmp_path / "curve.png") == (
        "show-training: --plot needs matplotlib, which is not installed: pip install matplotlib"
    )
    assert "matplotlib" not in vars(training_plot)
