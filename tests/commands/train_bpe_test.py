import logging
from functools import partial

import pytest
from allennlp.common import logging as common_logging
from allennlp.data import Vocabulary

from allennlp_semfit.subwords.tokenizer import SubwordTokenizer
from tests.commands import running
from tests.processes import run_module

run = partial(running.run, "train-bpe")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("rain fell on the quiet harbour all night\n" * 40)
    return path


def test_trains_and_says_what_is_next(corpus, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="allennlp_semfit")
    out = tmp_path / "the subwords"
    options = "--merges 12 --min-frequency 3 --num-workers 2 --file-friendly-logging"
    run(corpus, corpus, f"{out}/", *options.split(), "--boundary-tokens", "<S>", "</S>")
    tokenizer = SubwordTokenizer(out / "tokenizer.json")
    assert tokenizer.subwords[:2] == ["<S>", "</S>"]
    assert len(tokenizer.subwords) == 2 + 256 + 12
    vocabulary = Vocabulary.from_files(out / "vocabulary")
    assert vocabulary.get_token_index("</S>", "subwords") == 3
    words = corpus.read_text().split() * 2
    mean = len(tokenizer.tokenize(" ".join(words))) / len(words)
    assert (
        f"{out}/: 640 words, 12 merges, 270 subwords in the vocabulary, "
        f"{mean:.3f} subwords per word" in caplog.text
    )
    assert f'"model_path": "{out}/tokenizer.json"' in caplog.text
    assert f'"directory": "{out}/vocabulary"' in caplog.text
    assert common_logging.FILE_FRIENDLY_LOGGING


def test_there_may_be_no_boundaries(corpus, tmp_path):
    out = tmp_path / "out"
    run(corpus, out, "--merges", 1, "--boundary-tokens")
    assert len(SubwordTokenizer(out / "tokenizer.json").subwords) == 257


def test_the_user_sees_it_in_a_terminal(corpus, tmp_path):
    arguments = ["train-bpe", corpus, tmp_path / "out"]
    shown = run_module("allennlp", *arguments, output=tmp_path / "log").output
    assert "320 words, " in shown
    assert "100%" in shown
    assert "Traceback" not in shown
    assert "huggingface" not in shown
