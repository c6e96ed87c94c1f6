import json

import pytest

from benchmarks.tables import read_benchmarks
from experiments.pages import fill_page
from experiments.tables import TABLES
from tests import FIXTURES
from tests.processes import run_module

ROOT = FIXTURES.parent
DOCS = ROOT / "docs"
PAGES = {
    "../README.md": "summary",
    "results.md": "minutes",
    "performance.md": "speed",
}
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
    assert fill_page(filled, RESULTS) == filled
    assert fill_page(filled, EMPTY) != filled


@pytest.mark.parametrize("name", PAGES)
def test_committed_pages_have_the_tables_of_the_committed_results(name):
    page = (DOCS / name).read_text("utf-8")
    results = json.loads((ROOT / "experiments" / "results" / "laptop.json").read_text("utf-8"))
    assert f"<!-- table: {PAGES[name]} -->" in page
    results["benchmarks"] = read_benchmarks()
    assert fill_page(page, results) == page


def test_every_image_is_shown_or_linked():
    text = "".join(file.read_text("utf-8") for file in DOCS.glob("*.md"))
    images = {str(file.relative_to(DOCS)) for file in (DOCS / "images" / "results").iterdir()}
    assert images == {image for image in images if image in text}
