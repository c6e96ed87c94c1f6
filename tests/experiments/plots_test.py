import pytest
from matplotlib.image import imread

from experiments.plots import PLOTS, write_plots
from experiments.results import TASKS


def run_of(task, representation, score):
    return {"task": task, "representation": representation, "score": score}


RESULTS = {
    "language_models": [],
    "equal_time": [],
    "tasks": [
        run_of("ner", "fasttext", 10.0),
        run_of("ner", "fasttext", 14.0),
        run_of("ner", "elmo", 20.0),
        run_of("ner", "elmo_semfit", 21.0),
        run_of("ner", "elmo_semfit", 24.0),
        # Not drawn: nothing to subtract, and of another comparison.
        run_of("srl", "elmo_semfit", 50.0),
        run_of("ner", "elmo-equal-time", 19.0),
        run_of("bc5cdr", "elmo_semfit", 80.0),
    ],
    "senteval": [
        {"representation": "fasttext", "scores": {"TREC": 60.0, "SICK-E": 70.0, "MR": 99.0}},
        {"representation": "elmo", "scores": {"TREC": 66.0, "SICK-E": 72.0, "MR": 99.0}},
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


def test_the_mean_of_the_five_tasks_is_drawn_against_minutes_early_and_at_the_end():
    scores = {"fasttext": 40.0, "elmo": 50.0, "elmo-equal-time": 42.0, "elmo_semfit": 47.0}
    tasks = [run_of(task, name, scores[name]) for name in scores for task in TASKS]
    # Three points more in one task of five; and one that lacks the others.
    tasks += [run_of("ner", "elmo_semfit", 53.0), run_of("ner", "elmo_adaptive", 60.0)]
    models = [
        {"name": name, "corpus": corpus, "training_seconds": seconds, "updates": 9}
        for name, corpus, seconds in (
            ("elmo_semfit", "novels", 600),
            ("elmo_semfit", "pubmed", 900),
            ("elmo_adaptive", "novels", 700),
            ("elmo", "novels", 1200),
        )
    ]
    stopped = [{"name": "elmo", "corpus": "novels", "seconds": 630, "updates": 4}]
    results = {"tasks": tasks, "language_models": models, "equal_time": stopped}
    (axes,) = PLOTS["tasks_by_time"](results).axes
    assert lines(axes) == {
        "elmo": [[10.5, 20], [42, 50]],
        "elmo_semfit": [[10], [47.6]],
        "fasttext": [[0, 1], [40, 40]],
    }
    assert axes.get_xlabel() == "minutes of training"


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
    assert [file.name for file in files] == [
        "tasks.png",
        "cloze.png",
    ]
    for file in files:
        height, width, _ = imread(file).shape
        assert (width, height > 300) == (840, True)
        assert file.stat().st_size < 100_000
        assert imread(file).min() < imread(file).max()


def test_what_there_are_no_results_for_is_left_out(tmp_path):
    assert write_plots(dict.fromkeys(RESULTS, []), tmp_path) == []
    results = {**RESULTS, "cloze": []}
    assert write_plots(results, tmp_path) == [tmp_path / "tasks.png"]


def test_scores_are_drawn_by_frequency_among_any_words_and_among_words_as_frequent():
    left, right = PLOTS["cloze"](RESULTS).axes
    assert lines(left) == {"elmo": [[0, 1], [0.1, 0.5]]}
    assert lines(right) == {"elmo": [[0, 1], [0.05, 0.3]]}
    assert [label.get_text() for label in left.get_xticklabels()] == ["0", "10–99"]
