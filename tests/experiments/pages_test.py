import pytest

from experiments.pages import PAGES, PLOTTED, fill_page, plot_benchmark, plot_minutes, read_results


@pytest.fixture(scope="module")
def results():
    return read_results()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_committed_pages_have_the_tables_of_the_committed_results(page, results):
    text = page.read_text("utf-8")
    assert "<!-- table: " in text
    assert fill_page(text, results) == text


def test_the_plot_has_the_figures_of_the_table(results):
    left, right = plot_minutes(results).axes
    points = {
        label: [[round(each, 1) for each in axis] for axis in (line.get_xdata(), line.get_ydata())]
        for line, label in zip(*left.get_legend_handles_labels())
    }
    assert points["ELMo-S"] == [[5, 15, 30], [54.8, 56.3, 56.9]]
    assert points["none"] == [[0, 1], [48.8, 48.8]]
    assert len(right.lines) == len(results["embedding_speed"])


def test_the_benchmarks_are_plotted(results):
    for name in PLOTTED:
        (axes,) = plot_benchmark(name, results["benchmarks"][name]).axes
        assert axes.containers
