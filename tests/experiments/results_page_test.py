"""The committed pages have the tables of the committed results."""

import json

import pytest

from benchmarks.tables import read_benchmarks
from experiments.pages import fill_page
from stress.report import RESULTS
from tests import FIXTURES

ROOT = FIXTURES.parent
DOCS = ROOT / "docs"
TABLES = {
    "../README.md": "summary",
    "results.md": "minutes",
    "results-details.md": "claims",
    "performance.md": "speed",
    "reliability.md": "reliability",
}


@pytest.mark.parametrize("name", TABLES)
def test_its_tables_are_those_of_the_results(name):
    page = (DOCS / name).read_text("utf-8")
    results = json.loads((ROOT / "experiments" / "results" / "laptop.json").read_text("utf-8"))
    assert f"<!-- table: {TABLES[name]} -->" in page
    results["benchmarks"] = read_benchmarks()
    results["stress"] = json.loads(RESULTS.read_text("utf-8"))
    assert fill_page(page, results) == page


def test_every_image_is_shown_or_linked():
    text = "".join(file.read_text("utf-8") for file in DOCS.glob("*.md"))
    images = {str(file.relative_to(DOCS)) for file in (DOCS / "images" / "results").iterdir()}
    assert images == {image for image in images if image in text}
