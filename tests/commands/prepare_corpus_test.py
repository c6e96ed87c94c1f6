import logging
from functools import partial

import pytest

from allennlp_semfit.commands import prepare_corpus
from tests.commands import running

run = partial(running.run, "prepare-corpus")


@pytest.mark.parametrize(("min_words", "whiten"), [(1400, " --whiten"), (1401, "")])
def test_it_makes_a_corpus_and_says_what_comes_next(
    min_words, whiten, caplog, tmp_path, monkeypatch
):
    monkeypatch.setattr(prepare_corpus, "_MIN_WORDS_TO_WHITEN", min_words)
    caplog.set_level(logging.INFO, logger="allennlp_semfit")
    text, out = tmp_path / "in.txt", tmp_path / "the corpus"
    text.write_text("".join(f"Sentence {i}. And its twin!\n" for i in range(100)))
    run(text, text, f"{out}/", "--num-shards", 3, "--validation-fraction", 0.1)
    assert len(list((out / "train").iterdir())) == 3
    assert "400 sentences (1,400 words)" in caplog.text
    command = f"allennlp train-fasttext '{out}/train' '{out}/vectors.bin' --dim 100{whiten}\n"
    assert command in caplog.text
