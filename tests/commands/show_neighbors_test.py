import json
from functools import partial

import pytest

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.analysis.neighbors import TextVectors, distinct_sentences, find_occurrences
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
    options = "--json --all --top-k 3 --max-occurrences 2 --batch-size 4 --max-sentences 25"
    run(lm_archive, text_file, "--words", "river, THE,river", *options.split())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    sentences = distinct_sentences(LINES, 25)
    embedder = SentenceEmbedder(lm_archive)
    text = TextVectors(embedder, sentences, batch_size=4)
    occurrences = find_occurrences(sentences, ["river", "THE"], 2)
    expected = []
    for layers in ("0", "1", "2", "average", "normalized"):
        found_of_all = text.neighborhoods(occurrences["river"] + occurrences["THE"], layers, 3)
        for word, found in zip(("river", "river", "THE", "THE"), found_of_all):
            expected.append(
                {
                    "layers": layers,
                    "word": word,
                    "line": found.occurrence.line,
                    "position": found.occurrence.position,
                    "sentence": LINES[found.occurrence.line].split(),
                    **{
                        kind: [
                            {
                                "cosine": cosine,
                                "line": line,
                                "position": position,
                                "sentence": LINES[line].split(),
                            }
                            for (line, position), cosine in getattr(found, kind)
                        ]
                        for kind in ("same_word", "other_words")
                    },
                }
            )
    assert len(expected) == 20
    assert lines == expected


def test_text_has_lines_with_the_word_in_its_context(lm_archive, text_file, capsys):
    command = (lm_archive, text_file, "--words", "River")
    run(*command, "--top", "--json", "--top-k", 2)
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["layers"] for each in objects} == {"2"}
    run(*command, "--top", "--top-k", 2)
    heading, _, *shown = capsys.readouterr().out.splitlines()
    assert heading == "layer 2, the last:"
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
    run(*command[:2], "--words", "word17", "--all")
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.endswith(":") and line[0] != " "] == [
        "layer 0, the words without their context:",
        "layer 1:",
        "layer 2, the last:",
        "mean of the layers:",
        "mean of the normalized layers:",
    ]
    # Long contexts are cut, and what the text does not have is said.
    assert "       … word12 word13 word14 word15 word16 [word17] word18 " in "\n".join(shown)
    assert "  the same word: none" in shown


@pytest.mark.parametrize(("max_sentences", "is_cut"), [(5, True), (10_000, False)])
def test_what_is_not_read_is_said(lm_archive, text_file, caplog, max_sentences, is_cut):
    run(lm_archive, text_file, "--words", "river", "--max-sentences", max_sentences)
    assert ("only its first 5 sentences are read; --max-sentences" in caplog.text) == is_cut
