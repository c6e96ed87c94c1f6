import json
import logging
import sys
import unicodedata
from functools import partial

import pytest

from allennlp_semfit.commands.nearest_words import _summary
from tests import TRAIN
from tests.commands import running


@pytest.fixture
def run(lm_archive):
    return partial(running.run, "nearest-words", lm_archive)


def test_prints_words_and_a_summary(run, tmp_path, capsys, caplog):
    caplog.set_level(logging.INFO, logger="allennlp_semfit")
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("the captain\n\nquagga\n")
    run(sentences, "--candidates", TRAIN, "--top-k", 3)
    blocks = capsys.readouterr().out.split("\n\n")
    lines = blocks[0].splitlines()
    assert lines[:2] == ["the captain", "  the"]
    assert [line.split()[0] for line in lines[2:5]] == ["forward", "backward", "both"]
    assert len(lines[2].split()) == 2 + 2 * 3
    # It is not in the training text.
    assert blocks[2].splitlines()[2].split()[:2] == ["forward", "[-]"]
    summary = [record.message for record in caplog.records][-6:]
    assert summary[5].startswith("both: most often nearest: ")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_no_progress_bar_is_in_the_output_on_a_terminal(
    is_terminal, run, tmp_path, capsys, monkeypatch
):
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("the captain\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    run(sentences)
    assert ("finding words" in capsys.readouterr().err) != is_terminal


def test_the_summary_counts_ranks_and_nearest_words():
    found = [(1, "a"), (2, "b"), (2, "a"), (3, "a")]
    assert list(_summary("both", found, 2)) == [
        "both: of 4 words of the text, 25.0% are the nearest, 75.0% among the first 2",
        "both: most often nearest: a (75.0%), b (25.0%)",
    ]


def test_json_has_the_same_words_with_and_without_more_candidates(run, tmp_path, capsys):
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("the captain\n")
    run(sentences, "--json")
    (line,) = capsys.readouterr().out.splitlines()
    first, second = json.loads(line)["words"]
    assert (first["word"], second["word"]) == ("the", "captain")
    assert sorted(word for word, _ in first["nearest"]["forward"]) == ["captain", "the"]
    assert sorted(first["ranks"]) == ["backward", "both", "forward"]
    words = tmp_path / "words.txt"
    words.write_text("a captain of the gate of the harbour the\n")
    run(sentences, "--json", "--candidates", words, "--max-words", 1)
    (line,) = capsys.readouterr().out.splitlines()
    assert [each["ranks"]["both"] for each in json.loads(line)["words"]] == [1, None]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_are_compared_in_form_c(form, run, tmp_path, capsys):
    sentences, words = tmp_path / "sentences.txt", tmp_path / "words.txt"
    sentences.write_text(unicodedata.normalize(form, "café naïve ọ̀rẹ́\n"))
    # The more frequent spelling stands for both.
    words.write_text("caf\u00e9 cafe\u0301 cafe\u0301 na\u00efve o\u0323\u0300re\u0323\u0301 the\n")
    run(sentences, "--json", "--top-k", 9, "--candidates", words)
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)["words"]
    expected = ["cafe\u0301", "na\u00efve", "o\u0323\u0300re\u0323\u0301", "the"]
    assert [each["word"] for each in found] == sentences.read_text().split()
    assert sorted(word for word, _ in found[0]["nearest"]["both"]) == expected
    assert all(None not in each["ranks"].values() for each in found)
