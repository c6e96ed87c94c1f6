import json
import re
import shutil
from functools import partial
from pathlib import Path

import numpy
import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.common import Params
from allennlp.data import TokenIndexer
from allennlp.models.archival import load_archive

from allennlp_semfit.commands import train_mimick as module
from allennlp_semfit.mimick.train import train_mimick
from allennlp_semfit.static_vectors.table import read_table
from tests import TABLE
from tests.commands import running

run = partial(running.run, "train-mimick")
error_of = partial(running.error_of, "train-mimick")


def test_trains_and_says_what_is_next(monkeypatch, tmp_path):
    messages = []
    monkeypatch.setattr(module.logger, "info", lambda text, *args: messages.append(text % args))
    out = tmp_path / "out"
    options = "--epochs 3 --char-dim 5 --hidden-dim 6 --held-out 0.25 --max-words 40 --seed 5"
    run(TABLE, out, *options.split())
    metrics = json.loads((out / "metrics.json").read_text())
    result, following = messages
    assert "trained on 30 words; on 10 other words" in result
    cosines = [metrics[f"best_validation_{name}"] for name in ("cosine", "baseline_cosine")]
    assert "(of the best constant direction: " in result
    assert re.findall(r"-?0\.\d{3}\b", result) == [f"{cosine:.3f}" for cosine in cosines]

    scores = evaluate_from_archive(out / "model.tar.gz", TABLE)
    # `evaluate` reads with the validation reader: the words held out.
    assert scores["cosine"] == pytest.approx(cosines[0], rel=1e-5)
    model = load_archive(out / "model.tar.gz").model
    assert model._seq2vec_encoder.get_input_dim() == 5
    assert model._seq2vec_encoder.get_output_dim() == 12

    indexer, embedder = map(json.loads, re.findall(r"\{.*?\}", following))
    assert (indexer["type"], embedder["type"]) == ("mimick", "mimick")
    vectors = TokenIndexer.from_params(Params(indexer)).get_word_vectors(["the", "zebra"])
    assert vectors[0].shape == vectors[1].shape == (embedder["embedding_dim"],)


def table_of(path, spell):
    """A table in which a word's vector says which letters it has."""
    letters = numpy.random.default_rng(1).integers(0, 6, size=(500, 5))
    words = {spell("".join("abcdef"[letter] for letter in row)) for row in letters}
    lines = [
        " ".join([word, *(str(word.lower().count(letter) - 5 / 6) for letter in "abcdef")])
        for word in sorted(words)
    ]
    path.write_text("\n".join(lines))
    return str(path)


def test_it_learns_what_spelling_tells(tmp_path):
    table = table_of(tmp_path / "table.txt", str)
    result = train_mimick(table, str(tmp_path / "out"), epochs=60)
    assert result.num_held_out == round(0.1 * result.num_words)
    assert result.dim == 6
    assert result.cosine > 0.8 > 0.2 > result.baseline_cosine


def test_the_same_seed_gives_the_same_model(tmp_path):
    results = [
        train_mimick(TABLE, str(tmp_path / str(index)), epochs=1, seed=seed)
        for index, seed in enumerate((3, 3, 4))
    ]
    assert results[0].cosine == results[1].cosine != results[2].cosine


@pytest.mark.parametrize("spell", [str.lower, str.title])
def test_it_lowercases_words_if_the_table_does(spell, tmp_path):
    table = table_of(tmp_path / "table.txt", spell)
    out = tmp_path / "out"
    train_mimick(table, str(out), epochs=1)
    indexer = {"type": "mimick", "archive_file": str(out), "table_path": table}
    words = ["fedcbafedcba", "FEDCBAFEDCBA"]
    assert not {*words} & {*read_table(table)[0]}
    lower, upper = TokenIndexer.from_params(Params(indexer)).get_word_vectors(words)
    assert (lower == upper).all() == (spell is str.lower)


def test_an_interrupted_training_resumes(monkeypatch, tmp_path, capsys):
    expected = train_mimick(TABLE, str(tmp_path / "whole"), epochs=3)
    out = tmp_path / "out"

    def interrupt(trainer, epoch):
        if epoch == 1:
            raise KeyboardInterrupt
        return train_epoch(trainer, epoch)

    from allennlp.training import GradientDescentTrainer

    train_epoch = GradientDescentTrainer._train_epoch
    monkeypatch.setattr(GradientDescentTrainer, "_train_epoch", interrupt)
    with pytest.raises(SystemExit, match="^130$"):
        run(TABLE, out, "--epochs", 3)
    assert "train-mimick: interrupted; --recover resumes" in capsys.readouterr().err
    monkeypatch.setattr(GradientDescentTrainer, "_train_epoch", train_epoch)
    trained = []
    batch_outputs = GradientDescentTrainer.batch_outputs

    def record(trainer, batch, for_training):
        if for_training:
            trained.append(trainer._epochs_completed)
        return batch_outputs(trainer, batch, for_training)

    # AllenNLP passes over the batches of finished epochs. An epoch has one batch here.
    monkeypatch.setattr(GradientDescentTrainer, "batch_outputs", record)
    found = train_mimick(TABLE, str(out), epochs=3, recover=True)
    assert trained == [1, 2]
    assert found.cosine == pytest.approx(expected.cosine, abs=0.02)


def test_replaces_only_a_training_and_only_if_told_to(tmp_path):
    out = tmp_path / "out"
    run(TABLE, out, "--epochs", 1)
    with pytest.raises(SystemExit, match="^train-mimick: .*out: it is not empty; .* --force"):
        run(TABLE, out, "--epochs", 1)
    (out / "old").touch()
    run(TABLE, out, "--epochs", 1, "--force")
    assert not (out / "old").exists()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "other: it has no readable config.json, so it is not a training of this command"),
        ("{", "other: its config.json has no `model.type`, so it is not a training of this"),
        ('{"model": "mimick"}', "other: its config.json has no `model.type`, so"),
        ('{"model": {}}', "other: its config.json has no `model.type`, so it is not"),
        (
            '{"model": {"type": "bert"}}',
            "other: the `model.type` in its config.json is 'bert', so it is not a training",
        ),
    ],
)
def test_another_directory_is_not_deleted(tmp_path, config, message):
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").touch()
    if config is not None:
        (other / "config.json").write_text(config)
    with pytest.raises(SystemExit, match=message):
        run(TABLE, other, "--force")
    assert (other / "thesis.tex").exists()


def test_the_table_is_not_deleted(monkeypatch, tmp_path):
    out = tmp_path / "out"
    (out / "tables").mkdir(parents=True)
    (out / "config.json").write_text('{"model": {"type": "mimick"}}')
    inside = out / "tables" / "table.txt"
    shutil.copy(TABLE, inside)
    (out / "link.txt").symlink_to(TABLE)
    (tmp_path / "link.txt").symlink_to(inside)
    monkeypatch.chdir(tmp_path)
    for table in (inside, "out/tables/table.txt", out / "link.txt", "link.txt", f"({inside})#x"):
        with pytest.raises(SystemExit, match="out: --force would delete the table, .*; give an"):
            run(table, out, "--force")
    assert inside.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt", "out"], "missing.txt does not exist"),
        (["ragged.txt", "out"], "has 1 values instead of the 2 of line 1 in line 2."),
        (["small.txt", "out"], "small.txt: 0 of 3 words would be held out; give a larger"),
        (["small.txt", "out", "--held-out", "0.9"], "small.txt: 3 of 3 words would be held out"),
        (["small.txt", "out", "--held-out", "1"], "--held-out: 1.0; it takes a number between"),
        (["small.txt", "out", "--epochs", "0"], "--epochs: 0; it takes 1 or more"),
        (["small.txt", "out", "--char-dim", "-1"], "--char-dim: -1; it takes 1 or more"),
        (["small.txt", "out", "--hidden-dim", "0"], "--hidden-dim: 0; it takes 1 or more"),
        (["small.txt", "out", "--seed", "-1"], "--seed: -1; it takes 0 to 4294967295"),
        (["small.txt", "out", "--max-words", "1"], "--max-words: 1; it takes 2 or more"),
        (["small.txt", "small.txt"], "small.txt: it is a file; give the name of a directory"),
        (["small.txt", "out", "--recover"], "out: there is no training to recover"),
        (["small.txt", "out", "--recover", "--force"], "--recover and --force exclude each"),
    ],
)
def test_an_error_is_one_line(monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("small.txt").write_text("a 1 2\nb 3 4\nc 5 6\n")
    Path("ragged.txt").write_text("a 1 2\nb 3\n")
    assert message in error_of(*arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ragged.txt", "small.txt"]
