"""
Plots collected results, 840 pixels wide:

    python -m experiments.plots RESULTS.json DIRECTORY

Writes `minutes.png` and `cloze.png`. Plots without results are left out.
"""

import logging
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json
from experiments.results import (
    PAIRED_TASKS,
    Results,
    base_model,
    cloze_scores,
    mean_score,
    minutes_of,
    sort_representations,
)

__all__ = ["PLOTS", "write_plots"]

# In inches and dots per inch.
_WIDTH, _RESOLUTION = 7.0, 120

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


def _style(name: str) -> Dict[str, Any]:
    colour, marker = _STYLES.get(base_model(name), ("#999999", "."))
    # Variants of a language model have hollow markers.
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
    names = sort_representations(entries)
    figure.legend(
        [entries[name] for name in names],
        names,
        loc="outside upper center",
        ncols=min(4, len(names)),
        frameon=False,
        fontsize=8,
    )


def _minutes(results: Results) -> Optional[Figure]:
    """
    The mean of the tasks of the paired tests, of representations that were run on all: against the
    minutes of their training, and that of the longest against the speed of embedding.
    """
    names = sort_representations(run["representation"] for run in results["tasks"])
    means = {name: mean for name in names if (mean := mean_score(results, name)) is not None}
    timed = [name for name in means if minutes_of(name)]
    if not timed:
        return None
    figure, (of_minutes, of_speed) = _figure(3.8, 2)
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
    of_speed.sharey(of_minutes)
    of_speed.set_xlabel("words embedded per second")
    _add_legend(figure, [of_minutes, of_speed])
    return figure


def _cloze(results: Results) -> Optional[Figure]:
    rows = cloze_scores(results)
    if not rows:
        return None
    figure, all_axes = _figure(3.8, 2)
    buckets = list(dict.fromkeys(bucket for name in rows for bucket in rows[name]))
    for axes, key, others in zip(
        all_axes, ("mrr", "mrr_same_frequency"), ("all words", "words of the same frequency")
    ):
        for name in sort_representations(rows):
            drawn = [(buckets.index(bucket), row[key]) for bucket, row in rows[name].items()]
            axes.plot(*zip(*drawn), **_style(name))
        axes.set_xticks(range(len(buckets)), buckets, rotation=30)
        axes.set_xlabel("frequency in the training text")
        axes.set_ylabel(f"mean reciprocal rank among\n{others}")
        axes.set_ylim(bottom=0)
    _add_legend(figure, all_axes)
    return figure


PLOTS: Dict[str, Callable[[Results], Optional[Figure]]] = {
    "minutes": _minutes,
    "cloze": _cloze,
}


def write_plots(results: Results, directory: Path) -> List[Path]:
    """
    # Parameters

    results : `Mapping[str, List[Dict[str, Any]]]`
        From `experiments.collect_results`.
    directory : `Path`
        Is created if needed.

    # Returns

    `List[Path]`
        The images written.
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
        files = write_plots(read_json(Path(sys.argv[1])), Path(sys.argv[2]))
    except InvalidFileError as error:
        sys.exit(str(error))
    logger.info("Wrote %s", ", ".join(map(str, files)) or "nothing: there are no results")


if __name__ == "__main__":
    main()
