import logging
from functools import partial

from tests.commands import running

run = partial(running.run, "prepare-corpus")


def test_it_makes_a_corpus_and_says_what_comes_next(caplog, tmp_path):
    caplog.set_level(logging.INFO, logger="allennlp_semfit")
    text, out = tmp_path / "in.txt", tmp_path / "the corpus"
    text.write_text("".join(f"Sentence {i}. And its twin!\n" for i in range(100)))
    run(text, text, f"{out}/", "--num-shards", 3, "--validation-fraction", 0.1)
    assert len(list((out / "train").iterdir())) == 3
    assert "400 sentences (1,400 words)" in caplog.text
    assert f"allennlp train-fasttext '{out}/train' '{out}/vectors.bin'" in caplog.text
