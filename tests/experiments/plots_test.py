import pytest
from matplotlib.image import imread

from experiments.plots import PLOTS, write_plots


def run_of(task, representation, score):
    return {"task": task, "representation": representation, "score": score}


RESULTS = {
    "language_models": [],
    "tasks": [
        run_of("ner", "fasttext", 10.0),
        run_of("ner", "fasttext", 14.0),
        run_of("ner", "elmo", 20.0),
        run_of("ner", "elmo_semfit", 21.0),
        run_of("ner", "elmo_semfit", 24.0),
        # Not drawn: nothing to subtract, and of another comparison.
        run_of("srl", "elmo_semfit", 50.0),
        run_of("ner", "elmo-15min", 19.0),
        run_of("bc5cdr", "elmo_semfit", 80.0),
    ],
    "cloze": [
        {
            "name": "elmo",
            "corpus": "novels",
            "rows": [
                {"bucket": "0", "mrr": 0.1, "mrr_same_frequency": 0.05},
                {"bucket": "10–99", "mrr": 0.5, "mrr_same_frequency": 0.3},
            ],
        },
        {
            "name": "elmo",
            "corpus": "pubmed",
            "rows": [{"bucket": "3", "mrr": 1, "mrr_same_frequency": 1}],
        },
    ],
}


def lines(axes):
    """The points of each line, by its label."""
    return {
        label: list(map(pytest.approx, (handle.get_xdata(), handle.get_ydata())))
        for handle, label in zip(*axes.get_legend_handles_labels())
    }


def test_the_mean_of_the_tasks_that_all_have_is_drawn_against_minutes():
    scores = {
        "fasttext-2min": 40.0,
        "elmo-5min": 41.0,
        "elmo-15min": 44.0,
        "elmo_semfit-15min": 47.0,
    }
    tasks = [run_of(task, name, scores[name]) for name in scores for task in ("ner", "snli")]
    # Three points more in one task of two; and one that the others lack.
    tasks += [run_of("ner", "elmo_semfit-15min", 53.0), run_of("srl", "elmo-5min", 90.0)]
    # Trained for as long as it takes.
    tasks += [run_of(task, "elmo", 70.0) for task in ("ner", "snli")]
    (axes,) = PLOTS["minutes"]({"tasks": tasks}).axes
    assert lines(axes) == {
        "elmo": [[5, 15], [41, 44]],
        "elmo_semfit": [[15], [48.5]],
        "fasttext": [[2], [40]],
    }
    assert axes.get_xlabel() == "minutes of training"
    assert axes.get_ylabel() == "mean of ner, snli, %"


def test_tasks_are_drawn_less_what_fasttext_scores_with_the_deviation_of_the_seeds():
    (axes,) = PLOTS["tasks"](RESULTS).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["ner\nF1"]
    drawn = {}
    for container in axes.containers:
        points, _, (whiskers,) = container.lines
        segments = filter(len, whiskers.get_segments())
        lengths = [high[1] - low[1] for low, high in segments]
        drawn[container.get_label()] = [*points.get_ydata(), *lengths]
    # fastText's mean is 12; the deviation of 21 and 24 is 3 / sqrt(2).
    assert drawn == {"elmo": [8], "elmo_semfit": pytest.approx([10.5, 2 * 3 / 2**0.5])}


def test_the_images_have_their_width_and_show_something(tmp_path):
    files = write_plots(RESULTS, tmp_path / "images")
    assert [file.name for file in files] == ["minutes.png", "tasks.png", "cloze.png"]
    for file in files:
        height, width, _ = imread(file).shape
        assert (width, height > 300) == (840, True)
        assert file.stat().st_size < 100_000
        assert imread(file).min() < imread(file).max()


def test_what_there_are_no_results_for_is_left_out(tmp_path):
    assert write_plots(dict.fromkeys(RESULTS, []), tmp_path) == []
    results = {**RESULTS, "cloze": []}
    assert write_plots(results, tmp_path) == [tmp_path / "minutes.png", tmp_path / "tasks.png"]


def test_scores_are_drawn_by_frequency_among_any_words_and_among_words_as_frequent():
    left, right = PLOTS["cloze"](RESULTS).axes
    assert lines(left) == {"elmo": [[0, 1], [0.1, 0.5]]}
    assert lines(right) == {"elmo": [[0, 1], [0.05, 0.3]]}
    assert [label.get_text() for label in left.get_xticklabels()] == ["0", "10–99"]
