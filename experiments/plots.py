"""
Draws gathered results, 840 pixels wide:

    python -m experiments.plots RESULTS.json DIRECTORY

`tasks_and_time.png`, `quality_and_time.png`, `learning.png`, `tasks.png` and `frequency.png`; those
that there are no results for are left out.
"""

import logging
import math
import statistics
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json
from experiments.results import (
    LONG_TAIL,
    TASKS,
    Results,
    base_of,
    frequencies_of,
    in_order,
    scores_of,
    trainings_of,
    way_of,
)

__all__ = ["PLOTS", "draw"]

# Inches, and dots an inch.
_WIDTH, _RESOLUTION = 7.0, 120

# Tol's muted colours, which the colour-blind can tell apart, each with a marker of its own.
_STYLES: Dict[str, Tuple[str, str]] = {
    "none": ("#999999", "x"),
    "fasttext": ("#000000", "+"),
    "elmo": ("#CC6677", "s"),
    "elmo_adaptive": ("#DDAA33", "D"),
    "elmo_semfit": ("#332288", "o"),
    "elmo_semfit_whitened": ("#661100", "*"),
    "elmo_semfit_oneb": ("#88CCEE", "v"),
    "elmo_semfit_cnn": ("#117733", "^"),
    "elmo_semfit_random": ("#999933", "P"),
    "elmo_semfit_l2": ("#44AA99", "<"),
    "elmo_semfit_nllvmf": ("#AA4499", ">"),
    "elmo_subword": ("#882255", "X"),
}
_BASELINE = "fasttext"

logger = logging.getLogger("experiments")


def _style(name: str) -> Dict[str, Any]:
    colour, marker = _STYLES.get(base_of(name), ("#999999", "."))
    # Hollow where the same language model is used in another way.
    fill = {} if name in _STYLES else {"markerfacecolor": "white"}
    return {"color": colour, "marker": marker, "markersize": 5, "label": name, **fill}


def _figure(height: float, panels: int = 1) -> Tuple[Figure, List[Axes]]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    all_axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    return figure, all_axes


def _add_legend(figure: Figure, all_axes: List[Axes]) -> None:
    """Above the panels, each name once."""
    entries: Dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    names = in_order(entries)
    figure.legend(
        [entries[name] for name in names],
        names,
        loc="outside upper center",
        ncols=min(4, len(names)),
        frameon=False,
        fontsize=8,
    )


def _curves(results: Results, *keys: str) -> Dict[str, List[Dict[str, Any]]]:
    """The points that have all of these, by language model."""
    curves = {
        curve["name"]: [point for point in curve["points"] if all(key in point for key in keys)]
        for curve in results["curves"]
        if curve["corpus"] != LONG_TAIL
    }
    return {name: curves[name] for name in in_order(curves) if curves[name]}


def _tasks_and_time(results: Results) -> Optional[Figure]:
    """Of a language model that was stopped early too, both, joined."""

    def mean_of(representation: str) -> Optional[float]:
        scores = [scores_of(results, task, representation) for task in TASKS]
        return statistics.mean(map(statistics.mean, scores)) if all(scores) else None

    points: Dict[str, List[Tuple[float, float]]] = {}
    for training in trainings_of(results):
        mean = mean_of(training.representation)
        if mean is not None:
            points.setdefault(training.name, []).append((training.seconds / 60, mean))
    if not points:
        return None
    figure, (axes,) = _figure(3.8)
    for name in in_order(points):
        axes.plot(*zip(*points[name]), **_style(name))
    baseline = mean_of(_BASELINE)
    if baseline is not None:
        axes.axhline(baseline, color="black", linestyle="--", label=_BASELINE)
    axes.set_xlim(left=0)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("mean of the five tasks, %")
    _add_legend(figure, [axes])
    return figure


def _quality_and_time(results: Results) -> Optional[Figure]:
    curves = _curves(results, "seconds", "scores")
    if not curves:
        return None
    figure, (axes,) = _figure(3.8)
    for name, points in curves.items():
        minutes = [point["seconds"] / 60 for point in points]
        means = [statistics.mean(point["scores"].values()) for point in points]
        axes.plot(minutes, means, **_style(name))
    points = next(iter(curves.values()))
    tasks = list(points[0]["scores"])
    end = max(points[-1]["seconds"] for points in curves.values())
    for row in results["senteval"]:
        if row["representation"] == _BASELINE:
            mean = statistics.mean(row["scores"][task] for task in tasks)
            axes.plot([0, end / 60], [mean, mean], "k--", label=_BASELINE)
    axes.set_xlim(left=0)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel(f"mean of {' and '.join(tasks)}, %")
    _add_legend(figure, [axes])
    return figure


def _learning(results: Results) -> Optional[Figure]:
    cosines = _curves(results, "words", "cosine", "baseline_cosine")
    perplexities = _curves(results, "words", "perplexity")
    panels = [bool(cosines), bool(perplexities)].count(True)
    if not panels:
        return None
    figure, all_axes = _figure(3.8, panels)
    for axes in all_axes:
        axes.set_xlabel("words read, millions")
    if cosines:
        axes = all_axes[0]
        for name, points in cosines.items():
            gains = [point["cosine"] - point["baseline_cosine"] for point in points]
            axes.plot([point["words"] / 1e6 for point in points], gains, **_style(name))
        axes.set_ylabel("held-out cosine, less that of a constant")
    if perplexities:
        axes = all_axes[-1]
        for name, points in perplexities.items():
            values = [point["perplexity"] for point in points]
            axes.plot([point["words"] / 1e6 for point in points], values, **_style(name))
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("held-out perplexity of a word")
    _add_legend(figure, all_axes)
    return figure


def _tasks(results: Results) -> Optional[Figure]:
    """The whiskers are the deviation of the representation's own scores."""
    baselines = {task: scores_of(results, task, _BASELINE) for task in TASKS}
    tasks = [task for task in TASKS if baselines[task]]
    found = {run["representation"] for run in results["tasks"] if run["task"] in tasks}
    names = [name for name in in_order(found - {_BASELINE}) if not way_of(name)]
    if not names:
        return None
    figure, (axes,) = _figure(4.2)
    for index, name in enumerate(names):
        # Side by side within a task.
        offset = 0.7 * ((index + 0.5) / len(names) - 0.5)
        drawn = [
            (place + offset, scores_of(results, task, name), statistics.mean(baselines[task]))
            for place, task in enumerate(tasks)
            if scores_of(results, task, name)
        ]
        axes.errorbar(
            [x for x, _, _ in drawn],
            [statistics.mean(scores) - baseline for _, scores, baseline in drawn],
            yerr=[statistics.stdev(scores) if scores[1:] else math.nan for _, scores, _ in drawn],
            linestyle="none",
            elinewidth=1,
            capsize=2,
            **_style(name),
        )
    axes.axhline(0, color="black", linewidth=1)
    axes.grid(visible=False, axis="x")
    axes.set_xticks(range(len(tasks)), [f"{task}\n{TASKS[task]}" for task in tasks])
    axes.set_ylabel(f"score less that of {_BASELINE}, points")
    _add_legend(figure, [axes])
    return figure


def _frequency(results: Results) -> Optional[Figure]:
    rows = frequencies_of(results)
    if not rows:
        return None
    figure, all_axes = _figure(3.8, 2)
    buckets = list(dict.fromkeys(bucket for name in rows for bucket in rows[name]))
    for axes, key, others in zip(
        all_axes, ("mrr", "mrr_alike"), ("any words", "alike in frequency")
    ):
        for name in in_order(rows):
            drawn = [(buckets.index(bucket), row[key]) for bucket, row in rows[name].items()]
            axes.plot(*zip(*drawn), **_style(name))
        axes.set_xticks(range(len(buckets)), buckets, rotation=30)
        axes.set_xlabel("occurrences in the training text")
        axes.set_ylabel(f"mean reciprocal rank,\n{others}")
        axes.set_ylim(bottom=0)
    _add_legend(figure, all_axes)
    return figure


PLOTS: Dict[str, Callable[[Results], Optional[Figure]]] = {
    "tasks_and_time": _tasks_and_time,
    "quality_and_time": _quality_and_time,
    "learning": _learning,
    "tasks": _tasks,
    "frequency": _frequency,
}


def draw(results: Results, directory: Path) -> List[Path]:
    """
    # Parameters

    results : `Mapping[str, List[Dict[str, Any]]]`
        What `experiments.gather` gives.
    directory : `Path`
        Is made.

    # Returns

    `List[Path]`
        The images that there were results for.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for name, plot in PLOTS.items():
        figure = plot(results)
        if figure:
            files.append(directory / f"{name}.png")
            figure.savefig(files[-1], dpi=_RESOLUTION)
    return files


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    if len(sys.argv) != 3:
        sys.exit("python -m experiments.plots RESULTS.json DIRECTORY")
    try:
        files = draw(read_json(Path(sys.argv[1])), Path(sys.argv[2]))
    except InvalidFileError as error:
        sys.exit(str(error))
    logger.info("Drawn: %s", ", ".join(map(str, files)) or "nothing, for there are no results")


if __name__ == "__main__":
    main()
