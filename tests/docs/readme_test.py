import json

from experiments.pages import fill_page
from tests.docs.pages import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def test_its_tables_are_those_of_the_results():
    results = json.loads((ROOT / "experiments" / "results" / "laptop.json").read_text("utf-8"))
    assert "<!-- table: summary -->" in README
    assert "<!-- table: speed -->" in README
    assert fill_page(README, results, name="README.md") == README


def test_it_is_short():
    assert len(README.splitlines()) <= 150
