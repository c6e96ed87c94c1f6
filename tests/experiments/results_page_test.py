"""That the page of results is that of the results which are committed with it."""

import json
import re

from experiments.pages import fill_page
from tests import FIXTURES

ROOT = FIXTURES.parent
PAGE = ROOT / "docs" / "results.md"


def test_its_tables_are_those_of_the_results():
    page = PAGE.read_text("utf-8")
    results = json.loads((ROOT / "experiments" / "results" / "laptop.json").read_text("utf-8"))
    assert "<!-- table: tasks -->" in page
    assert fill_page(page, results, name="results.md") == page


def test_what_it_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE.read_text("utf-8"))
    assert "images/results/tasks.png" in links
    for link in links:
        assert (PAGE.parent / link).exists(), link
