"""
Plots the scores of collected results against the minutes of training and the speed of embedding:

    python -m experiments.plots RESULTS.json IMAGE.png
"""

import sys
from pathlib import Path
from typing import Any, Dict

from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from experiments.json_files import read_json
from experiments.results import (
    PAIRED_TASKS,
    REPRESENTATIONS,
    Representation,
    Results,
    base_model,
    language_model_of,
    mean_score,
    minutes_of,
    sort_representations,
)

__all__ = ["plot_minutes"]


def plot_minutes(results: Results) -> Figure:
    """
    The mean of the tasks of the paired tests, of representations that were run on all: against the
    minutes of their training, and that of the longest against the speed of embedding.
    """
    names = sort_representations(run["representation"] for run in results["tasks"])
    means = {
        name: mean
        for name in names
        if language_model_of(name) == name and (mean := mean_score(results, name)) is not None
    }
    timed = [name for name in means if minutes_of(name)]
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    of_minutes, of_speed = figure.subplots(1, 2, sharey=True)
    speeds = {row["label"]: row["words_per_second"] for row in results["embedding_speed"]}
    for base in sort_representations(map(base_model, means)):
        trained = [name for name in timed if base_model(name) == base]
        points = [(minutes_of(name), means[name]) for name in trained]
        if points:
            of_minutes.plot(*zip(*points), **_style(base))
        else:
            line = {**_style(base), "marker": None, "linestyle": "--", "linewidth": 1}
            of_minutes.axhline(means[base], **line)
        if base in speeds:
            of_speed.plot(speeds[base], means[(trained or [base])[-1]], **_style(base), ls="none")
    of_minutes.set_xticks(sorted({0, *map(minutes_of, timed)}))
    of_minutes.set_xlabel("minutes of training")
    of_minutes.set_ylabel(f"mean of {', '.join(PAIRED_TASKS)}, %")
    of_speed.set_xscale("log")
    of_speed.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    of_speed.xaxis.set_major_formatter(EngFormatter(sep=""))
    of_speed.xaxis.set_minor_formatter(NullFormatter())
    of_speed.set_xlabel("words embedded per second")
    for axes in (of_minutes, of_speed):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    figure.legend(
        *of_minutes.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=4,
        frameon=False,
        fontsize=8,
    )
    return figure


def _style(name: str) -> Dict[str, Any]:
    title, colour, marker = REPRESENTATIONS.get(name, Representation(name))
    return {"color": colour, "marker": marker, "markersize": 5, "label": title}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    plot_minutes(read_json(Path(sys.argv[1]))).savefig(sys.argv[2], dpi=120)
