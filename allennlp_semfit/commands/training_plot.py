"""Plots the metrics of a training, for the `show-training` subcommand."""

import math
import re
from itertools import groupby
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.output import check_output_path, write_file

__all__ = ["check_plot_path", "read_progress", "write_plot"]

_SUFFIXES = (".png", ".svg", ".pdf")
# The axis of each metric.
_METRICS = {"cosine": "mean cosine", "perplexity": "perplexity (log scale)"}

_EPOCH = re.compile(r" - Epoch (\d+)/\d+$")
_VALIDATING = re.compile(r" - Validating$")
# What AllenNLP logs every ten seconds: "cosine: 0.7394, … ||:  17%|#7 | 626/3672 [02:42".
_PROGRESS = re.compile(r" - tqdm - (.*) \|\|:.*\| (\d+)/(\d+) \[")
_METRIC = re.compile(r"(\w+): (-?\d+\.\d+)")


def check_plot_path(path: Path, *, force: bool) -> None:
    """
    Checks that `write_plot` can write to `path`.

    # Raises

    `ConfigurationError`
        If the suffix is unknown, matplotlib is not installed, or `path` cannot be written.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigurationError(
            f"--plot: {path}; the name of the file must end in one of {', '.join(_SUFFIXES)}"
        )
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigurationError(
            "--plot needs matplotlib, which is not installed: pip install matplotlib"
        ) from None
    check_output_path(path, force=force)


def read_progress(serialization_dir: str) -> Dict[str, List[Tuple[float, float]]]:
    """
    Reads the training metrics within the epochs from the log of `allennlp train`.

    # Returns

    `Dict[str, List[Tuple[float, float]]]`
        For each metric, points: the number of epochs, such as 1.5, and the mean since the beginning
        of the epoch. Empty without a log.
    """
    points: Dict[str, Dict[float, float]] = {}
    logs = [Path(serialization_dir, name) for name in ("out.log", "out_worker0.log")]
    for log in filter(Path.exists, logs):
        epoch, is_training = 0, True
        with log.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                started = _EPOCH.search(line)
                if started:
                    epoch, is_training = int(started[1]), True
                elif _VALIDATING.search(line):
                    is_training = False
                progress = _PROGRESS.search(line) if is_training else None
                if progress:
                    place = epoch + int(progress[2]) / int(progress[3])
                    for name, value in _METRIC.findall(progress[1]):
                        # A resumed training repeats some.
                        points.setdefault(name, {})[place] = float(value)
    return {name: sorted(values.items()) for name, values in points.items()}


def write_plot(
    epochs: Sequence[Mapping[str, Any]],
    progress: Mapping[str, Sequence[Tuple[float, float]]],
    path: Path,
) -> None:
    """
    # Parameters

    epochs : `Sequence[Mapping[str, Any]]`
        The contents of the files `metrics_epoch_N.json`.
    progress : `Mapping[str, Sequence[Tuple[float, float]]]`
        The output of `read_progress`.
    path : `Path`
        The suffix determines the format.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    names = [name for name in _METRICS if any(name in key for epoch in epochs for key in epoch)]
    figure = Figure(figsize=(1 + 5 * len(names), 4), layout="constrained")
    all_axes = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, name in zip(all_axes, names):

        def plot(points: Sequence[Tuple[float, float]], axes: Any = axes, **style: Any) -> None:
            finite = [point for point in points if math.isfinite(point[1])]
            if finite:
                axes.plot(*zip(*finite), **style)

        # A line for each epoch, because the means start anew.
        for epoch, points in groupby(progress.get(name, ()), lambda point: math.ceil(point[0])):
            label = None if epoch > 1 else "training, since the epoch's start"
            plot(list(points), label=label, color="0.6", linewidth=1)
        # The lines differ in greyscale, too.
        plot(
            _values(epochs, f"training_{name}"),
            label="training, whole epoch",
            color="#CC6677",
            linestyle="--",
            marker="s",
        )
        plot(_values(epochs, f"validation_{name}"), label="held out", color="#332288", marker="o")
        baselines = _values(epochs, f"validation_baseline_{name}")
        if baselines:
            axes.axhline(baselines[-1][1], label="baseline, held out", color="black", linestyle=":")
        axes.set_xlabel("epochs")
        axes.set_ylabel(_METRICS[name])
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if name == "perplexity":
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    figure.legend(
        *all_axes[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=2 * len(names),
        frameon=False,
        fontsize=8,
    )
    with write_file(path) as new:
        figure.savefig(new, format=path.suffix[1:].lower(), dpi=150)


def _values(epochs: Sequence[Mapping[str, Any]], key: str) -> List[Tuple[float, float]]:
    """The metric at the end of each epoch that has it."""
    return [(number, epoch[key]) for number, epoch in enumerate(epochs, 1) if key in epoch]
