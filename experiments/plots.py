"""
Plots collected results, 840 pixels wide:

    python -m experiments.plots RESULTS.json DIRECTORY

Writes `minutes.png`, `tasks.png` and `cloze.png`. Plots without results are left out.
"""

import logging
import math
import statistics
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json
from experiments.results import (
    TASKS,
    Results,
    base_model,
    cloze_scores,
    minutes_of,
    sort_representations,
    task_scores,
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
    "elmo_semfit_sru": ("#88CCEE", "h"),
    "elmo_semfit_qrnn": ("#44AA99", "p"),
    "elmo_semfit_gated_cnn": ("#117733", "d"),
    "elmo_semfit_transformer": ("#AA4499", "8"),
    "elmo_semfit_torch_lstm": ("#999933", "H"),
    "elmo_semfit_whitened": ("#661100", "*"),
    "elmo_semfit_contrastive": ("#EE7733", "h"),
    "elmo_semfit_oneb": ("#88CCEE", "v"),
    "elmo_semfit_cnn": ("#117733", "^"),
    "elmo_semfit_random": ("#999933", "P"),
    "elmo_semfit_l2": ("#44AA99", "<"),
    "elmo_semfit_nllvmf": ("#AA4499", ">"),
    "elmo_subword": ("#882255", "X"),
    "elmo_semfit_svd": ("#DDCC77", "1"),
    "elmo_semfit_svd_input": ("#BBBBBB", "2"),
    "elmo_semfit_pca": ("#CC3311", "4"),
    "elmo_semfit_mimick": ("#009988", "|"),
    "masked_lm": ("#0077BB", "3"),
}
_BASELINE = "fasttext"

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
    """The mean of the tasks that every timed representation was run on."""
    names = {run["representation"] for run in results["tasks"]}
    timed = [name for name in sort_representations(names) if minutes_of(name)]
    tasks = sorted(
        set.intersection(
            *(
                {run["task"] for run in results["tasks"] if run["representation"] == name}
                for name in timed
            )
        )
        if timed
        else []
    )
    if not tasks:
        return None

    def mean_of(representation: str) -> Optional[float]:
        scores = [task_scores(results, task, representation) for task in tasks]
        return statistics.mean(map(statistics.mean, scores)) if all(scores) else None

    figure, (axes,) = _figure(3.8)
    for base in sort_representations(map(base_model, timed)):
        points = [(minutes_of(name), mean_of(name)) for name in timed if base_model(name) == base]
        axes.plot(*zip(*points), **_style(base))
    axes.set_xlim(left=0)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel(f"mean of {', '.join(tasks)}, %")
    _add_legend(figure, [axes])
    return figure


def _tasks(results: Results) -> Optional[Figure]:
    """Error bars are the standard deviation of a representation's scores."""
    baselines = {task: task_scores(results, task, _BASELINE) for task in TASKS}
    tasks = [task for task in TASKS if baselines[task]]
    found = {run["representation"] for run in results["tasks"] if run["task"] in tasks}
    names = [name for name in sort_representations(found - {_BASELINE}) if name == base_model(name)]
    if not names:
        return None
    figure, (axes,) = _figure(4.2)
    for index, name in enumerate(names):
        # The representations of a task are next to each other.
        offset = 0.7 * ((index + 0.5) / len(names) - 0.5)
        drawn = [
            (place + offset, task_scores(results, task, name), statistics.mean(baselines[task]))
            for place, task in enumerate(tasks)
            if task_scores(results, task, name)
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
    axes.set_ylabel(f"score − score of {_BASELINE}, points")
    _add_legend(figure, [axes])
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
    "tasks": _tasks,
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
