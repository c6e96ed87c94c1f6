import pytest
from matplotlib.image import imread

from experiments.plots import PLOTS, write_plots
from experiments.results import PAIRED_TASKS


def run_of(task, representation, score):
    return {"task": task, "representation": representation, "score": score}


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
    "cloze": [
        {
            "name": "elmo",
            "rows": [
                {"bucket": "0", "mrr": 0.1, "mrr_same_frequency": 0.05},
                {"bucket": "10–99", "mrr": 0.5, "mrr_same_frequency": 0.3},
            ],
        }
    ],
}


def lines(axes):
    """The points of each line, by its label."""
    return {
        label: list(map(pytest.approx, (handle.get_xdata(), handle.get_ydata())))
        for handle, label in zip(*axes.get_legend_handles_labels())
    }


def test_the_mean_of_the_tasks_is_drawn_against_minutes():
    left, right = PLOTS["minutes"](RESULTS).axes
    assert lines(left) == {
        # Over the whole width.
        "none": [[0, 1], [30, 30]],
        "fasttext": [[0, 1], [40, 40]],
        "elmo": [[5, 15], [41, 44]],
        "elmo_semfit": [[15], [48]],
    }
    assert left.get_ylabel() == "mean of snli, ner, srl, bc5cdr, %"
    # The longest training, by the speed of embedding.
    assert lines(right) == {"fasttext": [[9000], [40]], "elmo": [[100], [44]]}


def test_the_images_have_their_width_and_show_something(tmp_path):
    files = write_plots(RESULTS, tmp_path / "images")
    assert [file.name for file in files] == ["minutes.png", "cloze.png"]
    for file in files:
        height, width, _ = imread(file).shape
        assert (width, height > 300) == (840, True)
        assert file.stat().st_size < 100_000
        assert imread(file).min() < imread(file).max()


def test_what_there_are_no_results_for_is_left_out(tmp_path):
    assert write_plots(dict.fromkeys(RESULTS, []), tmp_path) == []
    results = {**RESULTS, "cloze": []}
    assert write_plots(results, tmp_path) == [tmp_path / "minutes.png"]


def test_scores_are_drawn_by_frequency_among_any_words_and_among_words_as_frequent():
    left, right = PLOTS["cloze"](RESULTS).axes
    assert lines(left) == {"elmo": [[0, 1], [0.1, 0.5]]}
    assert lines(right) == {"elmo": [[0, 1], [0.05, 0.3]]}
    assert [label.get_text() for label in left.get_xticklabels()] == ["0", "10–99"]
