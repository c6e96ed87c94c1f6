import json

import pytest

from allennlp_semfit.common.errors import InvalidFileError
from experiments.pages import fill_page
from experiments.tables import TABLES
from tests.processes import run_module

RESULTS = {
    "tasks": [
        {"task": "ner", "representation": name, "seed": 1, "score": score}
        for name, score in (("fasttext", 25.0), ("elmo_semfit-5min", 20.0))
    ],
    "language_models": [],
    "embedding_speed": [],
}
EMPTY = dict.fromkeys(RESULTS, [])


def test_a_page_keeps_its_prose_and_is_the_same_again(tmp_path, monkeypatch):
    page = (
        "# Title\n\n<!-- table: minutes -->\n<!-- end -->\n\nProse, 28.0.\n\n"
        "<!-- table: summary -->\n\n| old | 99.9 |\n\n<!-- end -->\nEnd.\n"
    )
    (tmp_path / "page.md").write_text(page)
    (tmp_path / "results.json").write_text(json.dumps(RESULTS))
    monkeypatch.chdir(tmp_path)
    run_module("experiments.pages", "results.json", "page.md", output=tmp_path / "log")
    filled = (tmp_path / "page.md").read_text()
    assert filled == (
        f"# Title\n\n<!-- table: minutes -->\n\n{TABLES['minutes'](RESULTS)}\n\n<!-- end -->\n\n"
        "Prose, 28.0.\n\n<!-- table: summary -->\n\n"
        f"{TABLES['summary'](RESULTS)}\n\n<!-- end -->\nEnd.\n"
    )
    assert fill_page(filled, RESULTS, name="page.md") == filled
    assert fill_page(filled, EMPTY, name="page.md") != filled


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (
            "<!-- table: task -->\n<!-- end -->\n",
            "p.md has the unknown table `<!-- table: task -->`. Use one of",
        ),
        ("<!-- table: minutes -->\n", "p.md has a mark of a table without its end"),
        ("<!-- table: minutes --> x\n<!-- end -->\n", "p.md has a mark of a table without its end"),
        ("<!-- end -->\n", "p.md has a mark of a table without its end"),
        # The first has no end.
        (
            "<!-- table: minutes -->\n<!-- table: summary -->\n<!-- end -->\n<!-- end -->\n",
            "p.md has a mark of a table without its end",
        ),
    ],
)
def test_a_mark_that_is_wrong_is_named(page, error):
    with pytest.raises(InvalidFileError) as raised:
        fill_page(page, RESULTS, name="p.md")
    assert str(raised.value).startswith(error)
