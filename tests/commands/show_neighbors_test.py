import html
import json
import re
from functools import partial

import pytest

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.analysis.neighbors import TextVectors, distinct_sentences, find_occurrences
from tests import FIXTURES
from tests.commands import running

run = partial(running.run, "show-neighbors")

SCRIPT = "<script>alert(1)</script>"
QUOTES = """"'&amp;"""
# With what HTML must escape, and with words written from right to left and without spaces.
LINES = [
    "a river is a river , and the river was wide .",
    *(FIXTURES / "corpus" / "train" / "shard-00.txt").read_text("utf-8").splitlines(),
    f"the {SCRIPT} is {QUOTES} and {SCRIPT} was {QUOTES}",
    f"</section></body> {SCRIPT}",
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


def test_the_page_has_the_data_of_the_json_escaped(lm_archive, text_file, tmp_path, capsys, caplog):
    caplog.set_level("INFO")
    out = tmp_path / "new" / "out.html"
    words = f"river,{SCRIPT},{QUOTES},漢字,השלום,word3"
    command = (lm_archive, text_file, "--words", words, "--top-k", 3)
    run(*command, "--html", out, "--average")
    assert f"{out}: " in caplog.text
    assert capsys.readouterr().out == ""
    run(*command, "--json", "--all")
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    page = out.read_text("utf-8")
    names = ["0", "1", "2", "average", "normalized"]
    sections = re.findall(
        r'<section class="layers" .*?(?=<section class="layers"|<script>)', page, re.S
    )
    assert [" hidden>" in each.split("\n")[0] for each in sections] == [1, 1, 1, 0, 1]
    assert "<h2>Mean of the layers</h2>" in sections[3]
    for name, section in zip(names, sections):
        rows = re.findall(
            r"<tr><td>([^<]*)</td><td>.*<mark>([^<]*)</mark>.*</td>\n<td>([^<]*)</td></tr>", section
        )
        nearest = [
            (f"{near['cosine']:.2f}", near["sentence"][near["position"]], str(near["line"] + 1))
            for each in objects
            if each["layers"] == name
            for near in each["same_word"] + each["other_words"]
        ]
        assert len(nearest) > 20
        assert [tuple(map(html.unescape, row)) for row in rows] == nearest
    # It refers to no other file, and has one script, which is the page's.
    assert not re.search(r"https?://|src=|@import|url\(|href=", page)
    assert page.count("<script>") == page.count("</script>") == page.count("</body>") == 1
    assert "alert(1)" not in re.search("<script>.*</script>", page, re.S)[0]


def test_one_word_that_occurs_once_is_alone_on_the_map(lm_archive, tmp_path):
    (tmp_path / "text.txt").write_text("Snow", "utf-8")
    out = tmp_path / "out.html"
    command = (lm_archive, tmp_path / "text.txt", "--words", "snow", "--html", out)
    run(*command)
    page = out.read_text("utf-8")
    assert "<table>" not in page
    assert "The same word: the text has none." in page
    assert set(re.findall(r'<circle cx="([\d.]*)"', page)) == {"200.0"}


@pytest.mark.parametrize(("max_sentences", "is_cut"), [(5, True), (10_000, False)])
def test_what_is_not_read_is_said(lm_archive, text_file, caplog, max_sentences, is_cut):
    run(lm_archive, text_file, "--words", "river", "--max-sentences", max_sentences)
    assert ("only its first 5 sentences are read; --max-sentences" in caplog.text) == is_cut
