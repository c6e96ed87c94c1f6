import sys
from functools import partial

import fasttext
import pytest
from allennlp.common import logging as common_logging

from allennlp_semfit.commands import train
from tests.commands import running
from tests.training_config.language_models_test import CONFIGS, evaluate

run = partial(running.run, "train-fasttext")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("rain fell on the quiet harbour all night\n" * 40)
    return path


def test_trains_and_says_what_is_next(corpus, tmp_path, caplog):
    caplog.set_level("INFO")
    out = tmp_path / "vectors.bin"
    options = "--dim 20 --bucket 500 --epoch 2 --minn 2 --maxn 4 --min-count 3 --model cbow"
    run(corpus, out, *options.split(), "--lr", 0.1, "--ws", 3, "--neg", 4, "--threads", 12)
    arguments = fasttext.load_model(str(out)).f.getArgs()
    assert (arguments.dim, arguments.bucket, arguments.epoch) == (20, 500, 2)
    assert (arguments.minn, arguments.maxn, arguments.minCount) == (2, 4, 3)
    assert (arguments.ws, arguments.neg, arguments.model.name) == (3, 4, "cbow")
    assert (
        f"{out}: 320 words read 2 times, 9 words in the dictionary, 20 dimensions, " in caplog.text
    )
    assert "Next:" not in caplog.text


@pytest.mark.parametrize(
    ("words", "in_memory", "more"),
    [
        (320, 320, "trainer+: { num_epochs: 3 }"),
        (319, 320, "trainer+: { num_epochs: 9 }"),
        (36, 320, "trainer+: { num_epochs: 9 }"),
        (35, 320, "trainer+: { num_epochs: 10 }"),
        (3, 320, "data_loader+: { batches_per_epoch: 1500 }, trainer+: { num_epochs: 36 }"),
        (
            35,
            319,
            "data_loader+: { max_instances_in_memory: 3200 }, trainer+: { num_epochs: 10 }",
        ),
    ],
)
def test_the_next_command_is_that_of_the_directory(
    words, in_memory, more, corpus, tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr("allennlp_semfit.commands.train._WORDS_PER_EPOCH", words)
    monkeypatch.setattr("allennlp_semfit.commands.train._WORDS_IN_MEMORY", in_memory)
    caplog.set_level("INFO")
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "shard-00.txt").symlink_to(corpus)
    out = tmp_path / "vectors.bin"
    run(tmp_path / "train", out, "--dim", 20, "--bucket", 500, "--min-count", 3)
    fields = f'{{ corpus:: "{tmp_path}", embedding_dim:: 20, {more} }}'
    config = f'(import "training_config/elmo_semfit.jsonnet") + {fields}'
    shuffle = f'for file in {tmp_path}/train/*; do shuf "$file" -o "$file"; done && '
    if in_memory == 320:
        shuffle = ""
    assert f"Next: {shuffle}echo '{config}' > mine.jsonnet && allennlp train" in caplog.text


def test_its_epochs_are_those_of_the_main_config():
    config = evaluate(CONFIGS / "elmo_semfit.jsonnet")
    loader = config["data_loader"]
    assert loader["batches_per_epoch"] == train._BATCHES_PER_EPOCH
    # With 25 words in a sentence
    sentences = loader["batches_per_epoch"] * loader["batch_sampler"]["batch_size"]
    assert 25 * sentences == train._WORDS_PER_EPOCH
    assert config["trainer"]["num_epochs"] == train._NUM_EPOCHS


@pytest.mark.parametrize("is_terminal", [True, False])
def test_writes_lines_where_there_is_no_terminal(is_terminal, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    with pytest.raises(SystemExit, match="no such file"):
        run("missing.txt", "vectors.bin")
    assert is_terminal != common_logging.FILE_FRIENDLY_LOGGING
