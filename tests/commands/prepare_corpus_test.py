import logging
import textwrap
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


def test_it_warns_where_it_joins_lines(caplog, tmp_path):
    sentence = "He counted the waves, and he wrote their number in a book, which was thick."
    text = "\n".join(textwrap.wrap(f"{sentence} " * 40, 36)) + "\n\n"
    (tmp_path / "in.txt").write_text(text * 4)
    out = tmp_path / "out"
    run(tmp_path / "in.txt", out, "--validation-fraction", 0)
    assert "in.txt: its lines look hard-wrapped" in caplog.text
    assert (out / "train/shard-00.txt").read_text() == 40 * (
        sentence.replace(",", " ,").replace(".", " .") + "\n"
    )
    caplog.clear()
    run(tmp_path / "in.txt", out, "--validation-fraction", 0, "--lines", "paragraphs", "--force")
    assert "hard-wrapped" not in caplog.text
