import json
from functools import partial

import pytest

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.analysis.neighbors import (
    distinct_sentences,
    find_neighbors,
    find_occurrences,
)
from tests import TRAIN
from tests.commands import running

run = partial(running.run, "show-neighbors")

# With words written from right to left and without spaces.
LINES = [
    "a river is a river , and the river was wide .",
    *(TRAIN / "shard-00.txt").read_text("utf-8").splitlines(),
    "השלום על השולחן היום השלום",
    "漢字 の 漢字",
    " ".join(f"word{index}" for index in range(30)) + " river " + "x" * 500 + " the" * 20,
]


@pytest.fixture(scope="module")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(LINES), "utf-8")
    return path


def test_json_has_what_the_functions_give(lm_archive, text_file, capsys):
    options = "--json --layers all --top-k 3 --max-occurrences 2 --batch-size 4 --max-sentences 25"
    run(lm_archive, text_file, "--words", "river, THE,river", *options.split())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    sentences = distinct_sentences(LINES, 25)
    occurrences = find_occurrences(sentences, ["river", "THE"], 2)
    places = occurrences["river"] + occurrences["THE"]
    found = find_neighbors(SentenceEmbedder(lm_archive), sentences, places, "all", 3, 4)

    def place(line, position):
        return {"line": line, "position": position, "sentence": LINES[line].split()}

    assert lines == [
        {
            **place(*each.occurrence),
            **{
                kind: [{"cosine": cosine, **place(*near)} for near, cosine in getattr(each, kind)]
                for kind in ("same_word", "other_words")
            },
        }
        for each in found
    ]
    assert len(lines) == 4


def test_text_has_lines_with_the_word_in_its_context(lm_archive, text_file, capsys):
    command = (lm_archive, text_file, "--words", "River")
    run(*command, "--layers", "top", "--json", "--top-k", 2)
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    run(*command, "--layers", "top", "--top-k", 2)
    shown = capsys.readouterr().out.splitlines()
    for each in objects:
        assert "[river] " in shown[0]
        assert shown[1] == "  the same word:"
        assert shown[4] == "  other words:"
        for near, line in zip(each["same_word"] + each["other_words"], shown[2:4] + shown[5:7]):
            assert line.startswith(f"{near['cosine']:6.2f} ")
            assert f" [{near['sentence'][near['position']]}] " in line
            assert line.endswith(f" (line {near['line'] + 1})")
        assert shown[7] == ""
        shown = shown[8:]
    assert not shown
    run(*command[:2], "--words", "word17", "--layers", "all")
    shown = capsys.readouterr().out
    # Long contexts are cut, and a missing neighbor is reported.
    assert "       … word12 word13 word14 word15 word16 [word17] word18 " in shown
    assert "\n  the same word: none\n" in shown


def test_contexts_are_aligned_and_letters_keep_their_signs(lm_archive, tmp_path, capsys):
    # Each cluster such as "कु" has one column, and each Chinese character two.
    lines = [
        f"कु नदी {' '.join(['कु'] * 40)}",
        f"{' '.join(['का'] * 40)} नदी का",
        f"漢字 の नदी {' '.join(['漢'] * 40)}",
    ]
    (tmp_path / "text.txt").write_text("\n".join(lines), "utf-8")
    run(lm_archive, tmp_path / "text.txt", "--words", "नदी", "--top-k", 1)
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith(" " * 7)]
    assert shown == [
        f"{' ' * 42}कु [नदी] {' '.join(['कु'] * 18)}…  (line 1)",
        f" {' ' * 6}…{' '.join(['का'] * 18)} [नदी] का  (line 2)",
        f"{' ' * 36}漢字 の [नदी] {' '.join(['漢'] * 12)}…  (line 3)",
    ]


@pytest.mark.parametrize(("max_sentences", "is_cut"), [(5, True), (10_000, False)])
def test_what_is_not_read_is_said(lm_archive, text_file, caplog, max_sentences, is_cut):
    run(lm_archive, text_file, "--words", "river", "--max-sentences", max_sentences)
    assert ("only its first 5 sentences are read; --max-sentences" in caplog.text) == is_cut
