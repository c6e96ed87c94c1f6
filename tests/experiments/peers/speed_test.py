import argparse
import json

import pytest
from allennlp.common.checks import ConfigurationError

from experiments.peers import speed
from experiments.peers.speed import Candidate, main, measure_speed
from tests import FIXTURES, VECTORS

TEXT = FIXTURES / "corpus" / "heldout.txt"


def test_candidates_are_measured_on_the_same_words(lm_archive, tmp_path, monkeypatch):
    out = tmp_path / "speed.json"
    main(
        [str(TEXT), str(out), f"elmo_semfit:ours={lm_archive}", f"flair={FIXTURES / 'flair'}"]
        + ["--repeats", "2"]
    )
    result = json.loads(out.read_text("utf-8"))
    assert result["threads"] == 1
    assert [row["label"] for row in result["rows"]] == ["ours", "flair"]
    assert [row["representation"] for row in result["rows"]] == ["elmo_semfit", "flair"]
    for row in result["rows"]:
        assert len(row["rounds"]) == 2
        assert min(row["rounds"]) <= row["words_per_second"] <= max(row["rounds"])


def test_words_per_second_is_the_median(monkeypatch):
    def time_interleaved(candidates, *, repeats, device):
        for embed in candidates.values():
            for _ in range(repeats + 1):
                embed()
        return {name: [2.0, 1.0, 4.0] for name in candidates}

    monkeypatch.setattr(speed, "time_interleaved", time_interleaved)
    sentences = [["a", "b", "c", "d"]] * 8
    (row,) = measure_speed(
        [Candidate("flair", "flair", str(FIXTURES / "flair"))], sentences, repeats=3
    )
    assert row["rounds"] == [4, 8, 2]
    assert row["words_per_second"] == 4


@pytest.mark.parametrize("argument", ["bert", "=path", "bert="])
def test_a_candidate_needs_a_name_and_a_path(argument):
    with pytest.raises(argparse.ArgumentTypeError, match="is not REPRESENTATION=PATH"):
        Candidate.parse(argument)


def test_labels_differ():
    candidates = [Candidate.parse(f"fasttext={VECTORS}")] * 2
    with pytest.raises(ConfigurationError, match="the same label"):
        measure_speed(candidates, [["a"]] * 10)


def test_too_little_text_is_an_error():
    with pytest.raises(ConfigurationError, match="5 sentences are too few"):
        measure_speed([Candidate.parse(f"fasttext={VECTORS}")], [["a"]] * 5)
