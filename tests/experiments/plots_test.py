import pytest

from experiments.plots import plot_minutes
from experiments.results import PAIRED_TASKS
from tests.experiments.tables_test import run_of

SCORES = {
    "none": 30.0,
    "fasttext": 40.0,
    "elmo-5min": 41.0,
    "elmo-15min": 44.0,
    "elmo_semfit-15min": 47.0,
}
RESULTS = {
    "tasks": [
        *(run_of(task, name, SCORES[name]) for name in SCORES for task in PAIRED_TASKS),
        # Four points more, of another seed, in one task of four.
        run_of("ner", "elmo_semfit-15min", 55.0),
        # Not drawn: of another comparison, and not run on all tasks.
        run_of("ner", "elmo", 70.0),
        run_of("ner", "bert-15min", 70.0),
        run_of("sst5", "elmo-5min", 90.0),
    ],
    "embedding_speed": [
        {"label": "fasttext", "words_per_second": 9000},
        {"label": "elmo", "words_per_second": 100},
    ],
}


def lines(axes):
    """The points of each line, by its label."""
    return {
        label: list(map(pytest.approx, (handle.get_xdata(), handle.get_ydata())))
        for handle, label in zip(*axes.get_legend_handles_labels())
    }


def test_the_mean_of_the_tasks_is_drawn_against_minutes():
    left, right = plot_minutes(RESULTS).axes
    assert lines(left) == {
        # Over the whole width.
        "none": [[0, 1], [30, 30]],
        "fastText": [[0, 1], [40, 40]],
        "ELMo": [[5, 15], [41, 44]],
        "ELMo-S": [[15], [48]],
    }
    assert left.get_ylabel() == "mean of snli, ner, srl, bc5cdr, %"
    # The longest training, by the speed of embedding.
    assert lines(right) == {"fastText": [[9000], [40]], "ELMo": [[100], [44]]}
