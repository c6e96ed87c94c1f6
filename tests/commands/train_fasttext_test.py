import sys
from functools import partial

import fasttext
import pytest
from allennlp.common import logging as common_logging

from tests.commands import running

run = partial(running.run, "train-fasttext")
error_of = partial(running.error_of, "train-fasttext")


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
    assert f"{out}: 320 words read, 9 words in the dictionary, 20 dimensions, " in caplog.text
    assert f"model_path = {str(out)!r} and embedding_dim = 20" in caplog.text


@pytest.mark.parametrize("options", [["--dim", 0], ["--minn", 7], ["--threads", -1]])
def test_an_error_is_one_line(options, corpus, tmp_path):
    line = error_of(corpus, tmp_path / "vectors.bin", *options)
    assert line.startswith(f"train-fasttext: {options[0]}")


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("option", [[], ["--file-friendly-logging"]])
def test_writes_lines_where_there_is_no_terminal(is_terminal, option, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    with pytest.raises(SystemExit, match="no such file"):
        run("missing.txt", "vectors.bin", *option)
    assert (bool(option) or not is_terminal) == common_logging.FILE_FRIENDLY_LOGGING
