"""
Plots the scores of collected results against the minutes of training and the speed of embedding:

    python -m experiments.plots RESULTS.json IMAGE.png
"""

import logging
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json
from experiments.results import (
    PAIRED_TASKS,
    Results,
    base_model,
    mean_score,
    minutes_of,
    sort_representations,
)

__all__ = ["plot_minutes"]

# Paul Tol's muted and vibrant colours, which are safe for colour-blind readers, with markers.
_STYLES: Dict[str, Tuple[str, str]] = {
    "none": ("#999999", "x"),
    "fasttext": ("#000000", "+"),
    "word2vec": ("#999999", "."),
    "flair": ("#882255", "v"),
    "bert": ("#44AA99", "^"),
    "electra": ("#88CCEE", "P"),
    "elmo": ("#CC6677", "s"),
    "elmo_adaptive": ("#DDAA33", "D"),
    "elmo_semfit": ("#332288", "o"),
    "elmo_semfit_contrastive": ("#EE7733", "h"),
}

logger = logging.getLogger("experiments")


def plot_minutes(results: Results) -> Optional[Figure]:
    """
    The mean of the tasks of the paired tests, of representations that were run on all: against the
    minutes of their training, and that of the longest against the speed of embedding. None if no
    representation with minutes of training was.
    """
    names = sort_representations(run["representation"] for run in results["tasks"])
    means = {name: mean for name in names if (mean := mean_score(results, name)) is not None}
    timed = [name for name in means if minutes_of(name)]
    if not timed:
        return None
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    of_minutes, of_speed = figure.subplots(1, 2, sharey=True)
    speeds = {row["label"]: row["words_per_second"] for row in results["embedding_speed"]}
    for base in sort_representations(map(base_model, means)):
        trained = [name for name in timed if base_model(name) == base]
        points = [(minutes_of(name), means[name]) for name in trained]
        if points:
            of_minutes.plot(*zip(*points), **_style(base))
        else:
            colour = _style(base)["color"]
            of_minutes.axhline(means[base], label=base, linestyle="--", linewidth=1, color=colour)
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
    _complete(figure, [of_minutes, of_speed])
    return figure


def _style(name: str) -> Dict[str, Any]:
    colour, marker = _STYLES.get(name, ("#999999", "."))
    return {"color": colour, "marker": marker, "markersize": 5, "label": name}


def _complete(figure: Figure, panels: List[Axes]) -> None:
    """Adds grids, and above the panels a legend with each name once."""
    entries: Dict[str, Any] = {}
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
        for handle, label in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    names = sort_representations(entries)
    figure.legend(
        [entries[name] for name in names],
        names,
        loc="outside upper center",
        ncols=min(4, len(names)),
        frameon=False,
        fontsize=8,
    )


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    if len(sys.argv) != 3:
        sys.exit("python -m experiments.plots RESULTS.json IMAGE.png")
    image = Path(sys.argv[2])
    try:
        figure = plot_minutes(read_json(Path(sys.argv[1])))
    except InvalidFileError as error:
        sys.exit(str(error))
    if figure is None:
        logger.info("No plot: there are no results with minutes of training")
        return
    image.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image, dpi=120)
    logger.info("Wrote %s", image)


if __name__ == "__main__":
    main()
