import json
import os
import re
from functools import partial
from html.parser import HTMLParser

import pytest

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.analysis.neighbors import TextVectors, distinct_sentences, find_occurrences
from tests import FIXTURES, VECTORS
from tests.commands import running

run = partial(running.run, "show-neighbors")
error_of = partial(running.error_of, "show-neighbors")

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
VOID_TAGS = {"meta"}


@pytest.fixture(scope="module")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(LINES), "utf-8")
    return path


class Page(HTMLParser):
    """The sections for choices of layers, with their tables, and all tags; checks the nesting."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.sections = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID_TAGS:
            self.open.append(tag)
        if "data-layers" in dict(attributes):
            self.sections.append({"shown": "hidden" not in dict(attributes), "rows": [], "h2": ""})
        if tag == "tr":
            self.sections[-1]["rows"].append([])
        if tag in ("td", "th"):
            self.sections[-1]["rows"][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.sections[-1]["rows"][-1][-1] += data
        if "h2" in self.open:
            self.sections[-1]["h2"] += data

    def attributes(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def read_page(path):
    html = path.read_text("utf-8")
    return html, Page(html)


def test_json_has_what_the_functions_give(lm_archive, text_file, capsys):
    options = "--json --all --number 3 --max-occurrences 2 --batch-size 4 --max-sentences 25"
    run(
        *(lm_archive, text_file, "--words", "river, THE,river", *options.split()),
        *("--fasttext-model-path", VECTORS),
    )
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    sentences = distinct_sentences(LINES, 25)
    embedder = SentenceEmbedder(lm_archive, fasttext_model_path=VECTORS)
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
    command = (lm_archive, text_file, "--words", "River", "--fasttext-model-path", VECTORS)
    run(*command, "--top", "--json", "--number", 2)
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["layers"] for each in objects} == {"2"}
    run(*command, "--top", "--number", 2)
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
    run(*command[:2], "--words", "word17", *command[4:], "--all")
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


def test_the_page_has_the_data_of_the_json(lm_archive, text_file, tmp_path, capsys, caplog):
    caplog.set_level("INFO")
    out = tmp_path / "new" / "out.html"
    words = f"river,{SCRIPT},{QUOTES},漢字,השלום,word3"
    command = (lm_archive, text_file, "--words", words, "--number", 3)
    command += ("--fasttext-model-path", VECTORS)
    run(*command, "--html", out, "--average")
    assert f"{out}: " in caplog.text
    assert capsys.readouterr().out == ""
    _, page = read_page(out)
    run(*command, "--json", "--all")
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    names = ["0", "1", "2", "average", "normalized"]
    assert [section["shown"] for section in page.sections] == [name == "average" for name in names]
    titles = page.attributes("option")
    assert [attributes["value"] for attributes in titles] == ["0", "1", "2", "3", "4"]
    assert ["selected" in attributes for attributes in titles] == [
        name == "average" for name in names
    ]
    assert page.sections[3]["h2"] == "Mean of the layers"
    for name, section in zip(names, page.sections):
        rows = [row for row in section["rows"] if row != ["", "", ""]]
        nearest = [
            near
            for each in objects
            if each["layers"] == name
            for near in each["same_word"] + each["other_words"]
        ]
        assert len(rows) == len(nearest) > 20
        for (cosine, context, line), near in zip(rows, nearest):
            assert cosine == f"{near['cosine']:.2f}"
            assert line == str(near["line"] + 1)
            # The context, which is cut, is in the sentence.
            words_shown = context.replace("… ", "").replace(" …", "").split()
            assert " ".join(words_shown) in " ".join(near["sentence"])
            assert near["sentence"][near["position"]] in words_shown


def test_the_page_refers_to_no_other_file_and_escapes_the_text(lm_archive, text_file, tmp_path):
    out = tmp_path / "out.html"
    words = f"{SCRIPT},{QUOTES},river"
    run(
        *(lm_archive, text_file, "--words", words, "--html", out),
        *("--fasttext-model-path", VECTORS),
    )
    html, page = read_page(out)
    for reference in ("http://", "https://", "src=", "@import", "url(", "href="):
        assert reference not in html
    # One script, which is the page's.
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert html.count("<script>") == html.count("</script>") == 1
    assert "alert(1)" not in re.search("<script>.*</script>", html, re.DOTALL)[0]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<mark>&#34;&#39;&amp;amp;</mark>" in html
    assert [tag for tag, _ in page.tags].count("body") == 1
    # Handlers in attributes would be scripts, too.
    assert not [name for _, attributes in page.tags for name in attributes if name[:2] == "on"]


def test_the_page_can_be_used_by_keyboard_and_screen_reader(lm_archive, text_file, tmp_path):
    out = tmp_path / "out.html"
    run(
        *(lm_archive, text_file, "--words", "river,the", "--html", out, "--all"),
        *("--fasttext-model-path", VECTORS),
    )
    _, page = read_page(out)
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in (
        page.attributes("meta")
    )
    (html,) = page.attributes("html")
    assert html == {"lang": "en"}
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for svg in page.attributes("svg"):
        assert svg["role"] == "img"
    for _, attributes in page.tags:
        for name in ("aria-labelledby", "for"):
            assert set(attributes.get(name, "").split()) <= set(ids)
    assert len(page.attributes("caption")) == len(page.attributes("table")) > 0
    assert all(attributes == {"scope": "col"} for attributes in page.attributes("th"))
    # What a script alone can do is hidden without one.
    buttons = page.attributes("button")
    assert all("hidden" in attributes for attributes in buttons)
    marks = {
        attributes["data-at"]
        for tag, attributes in page.tags
        if tag in ("g", "circle", "rect") and "data-at" in attributes
    }
    for attributes in buttons:
        assert attributes["data-at"] in marks
        assert set(attributes["data-near"].split()) <= marks
    # All marks are within the map.
    for attributes in page.attributes("circle"):
        assert 0 < float(attributes["cx"]) < 400
        assert 0 < float(attributes["cy"]) < 280
    # The text's language is not the page's, and its direction its own.
    spans = [attributes for attributes in page.attributes("span") if "lang" in attributes]
    assert spans
    assert all(attributes == {"dir": "auto", "lang": ""} for attributes in spans)


def test_one_word_that_occurs_once_is_alone_on_the_map(lm_archive, tmp_path):
    (tmp_path / "text.txt").write_text("Snow", "utf-8")
    out = tmp_path / "out.html"
    run(
        *(lm_archive, tmp_path / "text.txt", "--words", "snow", "--html", out),
        *("--fasttext-model-path", VECTORS),
    )
    html, page = read_page(out)
    assert not page.attributes("table")
    assert "The same word: the text has none." in html
    assert {attributes["cx"] for attributes in page.attributes("circle")} == {"200.0"}


def test_a_page_is_replaced_only_with_force(lm_archive, text_file, tmp_path):
    out = tmp_path / "out.html"
    out.write_text("mine")
    command = (lm_archive, text_file, "--words", "river", "--html", out)
    command += ("--fasttext-model-path", VECTORS)
    with pytest.raises(SystemExit, match="it exists; give another name, or --force"):
        run(*command)
    assert out.read_text() == "mine"
    run(*command, "--force")
    first = out.read_bytes()
    run(*command, "--force")
    assert out.read_bytes() == first


@pytest.mark.parametrize(("max_sentences", "is_cut"), [(5, True), (10_000, False)])
def test_what_is_not_read_is_said(lm_archive, text_file, caplog, max_sentences, is_cut):
    options = ("--max-sentences", max_sentences, "--fasttext-model-path", VECTORS)
    run(lm_archive, text_file, "--words", "river", *options)
    assert ("only its first 5 sentences are read; --max-sentences" in caplog.text) == is_cut


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.tar.gz", "in.txt", "--words", "snow"], "Language model no.tar.gz does not exist"),
        (["TASK", "in.txt", "--words", "snow"], "has a model of type 'simple_tagger'"),
        # What can be said without the model is said first.
        (["no.tar.gz", "no.txt", "--words", "snow"], "no.txt: there is no such file"),
        (["no.tar.gz", "in.txt", "--words", "snaw"], "'snaw' does not occur in the 1 sentences"),
        (["no.tar.gz", "in.txt", "--words", "snaw"], "; similar words in it: Snow. Give words as"),
        (["no.tar.gz", "in.txt", "--words", " ,"], "--words: ' ,'; it takes words separated by"),
        (["no.tar.gz", "in.txt", "--words", "a", "--number", "0"], "--number: 0; it takes 1"),
        (
            ["no.tar.gz", "in.txt", "--words", "a", "--max-occurrences", "0"],
            "--max-occurrences must be at least 1, got 0",
        ),
        (["no.tar.gz", "in.txt", "--words", "a", "--max-sentences", "-1"], "--max-sentences: -1"),
        (
            ["no.tar.gz", "in.txt", "--words", "snow", "--html", "other.txt"],
            "other.txt: it exists; give another name, or --force to replace it",
        ),
        (
            ["other.txt", "in.txt", "--words", "snow", "--html", "other.txt", "--force"],
            "other.txt: it is an input; give the output another name",
        ),
        (["ARCHIVE", "in.txt", "--words", "snow", "--batch-size", "0"], "--batch-size: 0"),
    ],
)
def test_an_error_is_one_line(lm_archive, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("Snow .\n")
    (tmp_path / "other.txt").write_text("mine")
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "config.json").write_text('{"model": {"type": "simple_tagger"}}')
    before = sorted(os.listdir(tmp_path))
    places = {"ARCHIVE": lm_archive, "TASK": "task"}
    assert message in error_of(*(places.get(each, each) for each in arguments))
    assert sorted(os.listdir(tmp_path)) == before
