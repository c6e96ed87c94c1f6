import pytest

from experiments.pages import PAGES, PLOTTED, fill_page, plot_amounts, plot_benchmark, read_results


@pytest.fixture(scope="module")
def results():
    return read_results()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_committed_pages_have_the_tables_of_the_committed_results(page, results):
    text = page.read_text("utf-8")
    assert "<!-- table: " in text
    assert fill_page(text, results) == text


def test_the_amounts_of_text_are_plotted(results):
    figure = plot_amounts(results["scores"])
    assert [len(axes.containers) for axes in figure.axes] == [2, 2]


def test_the_benchmarks_are_plotted(results):
    for name in PLOTTED:
        (axes,) = plot_benchmark(name, results["benchmarks"][name]).axes
        assert axes.containers
