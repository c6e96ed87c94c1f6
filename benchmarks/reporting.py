"""The options that the benchmarks have in common, and a table, a JSON file and a plot of times."""

import argparse
import json
import logging
import os
import platform
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.timing import Timings

__all__ = ["RESULTS", "Lines", "argument_parser", "parse_arguments", "report", "table_of"]

RESULTS = Path(__file__).parent / "results"

# Inches, and dots an inch: 840 pixels wide, which a README shows as they are.
_WIDTH, _RESOLUTION = 7.0, 120

Measures = Mapping[str, Mapping[str, float]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lines:
    """
    Has `report` draw the seconds against something, a line for each kind of candidate.

    # Parameters

    x_label : `str`
        What they are drawn against, with its unit.
    points : `Dict[str, Tuple[str, float]]`
        The line that a candidate is a point of, and where on it. Candidates that are not here
        are not drawn.
    """

    x_label: str
    points: Dict[str, Tuple[str, float]]


def argument_parser(name: str, description: Optional[str]) -> argparse.ArgumentParser:
    """
    A parser with the options that all benchmarks have: `--device`, `--repeats` and `--out`.

    # Parameters

    name : `str`
        Of the benchmark, which its results' files begin with.
    description : `str`
        Shown by `--help`: the module's docstring.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(name=name)
    parser.add_argument(
        "--device",
        type=torch.device,
        default="cuda" if torch.cuda.is_available() else "cpu",
        help="default: cuda if there is one, else cpu",
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="rounds after the one that warms up; default: 5"
    )
    parser.add_argument(
        "--out", type=Path, help=f"default: benchmarks/results/{name}-DEVICE.json, a .png beside it"
    )
    return parser


def parse_arguments(
    parser: argparse.ArgumentParser, arguments: Optional[Sequence[str]] = None
) -> argparse.Namespace:
    """
    The arguments, those of the command line if none are given, with `out` filled in; and has what
    the benchmarks log shown.
    """
    args = parser.parse_args(arguments)
    if args.repeats < 1:
        parser.error(f"--repeats is {args.repeats}; it takes 1 or more.")
    args.out = args.out or RESULTS / f"{args.name}-{args.device.type}.json"
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("benchmarks").setLevel(logging.INFO)
    return args


def report(
    timings: Timings,
    reference: Union[str, Mapping[str, str]],
    out: Path,
    *,
    device: torch.device,
    measures: Optional[Measures] = None,
    lines: Optional[Lines] = None,
    **facts: Any,
) -> Dict[str, Dict[str, float]]:
    """
    Logs a table of the timings and their ratios to the reference's median, writes it to `out` as
    JSON with the machine and the `facts`, and draws it beside that, as a `.png` of the same name.

    # Parameters

    timings : `Timings`
        At least one candidate's.
    reference : `Union[str, Mapping[str, str]]`
        The candidate that the others are compared with; or for each one, which.
    out : `Path`
        A `.json`. Its directory is made.
    device : `torch.device`
        That they ran on.
    measures : `Mapping[str, Mapping[str, float]]`, optional (default = `None`)
        Further columns, by candidate: `{"elmo": {"parameters": …, "peak_memory_bytes": …}}`.
    lines : `Lines`, optional (default = `None`)
        Draws lines; without it, a bar for each candidate.
    **facts
        What else the reader of the JSON must know, such as the sizes.

    # Returns

    `Dict[str, Dict[str, float]]`
        The rows of the table, as in the JSON.
    """
    if isinstance(reference, str):
        column, references = f"{reference} / this", dict.fromkeys(timings, reference)
    else:
        column, references = "reference / this", dict(reference)
    rows = {
        name: {
            "min_seconds": min(seconds),
            "median_seconds": statistics.median(seconds),
            "max_seconds": max(seconds),
            column: statistics.median(timings[references[name]]) / statistics.median(seconds),
            **(measures or {}).get(name, {}),
        }
        for name, seconds in timings.items()
    }
    logger.info("\n%s", table_of(rows))
    hardware = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    machine = {
        "hardware": hardware,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "device": str(device),
    }
    repeats = len(next(iter(timings.values())))
    out.parent.mkdir(parents=True, exist_ok=True)
    results = {**machine, **facts, "repeats": repeats, "timings": rows}
    out.write_text(json.dumps(results, indent=2) + "\n")
    threads = "" if device.type == "cuda" else f", threads: {machine['threads']}"
    caption = f"{device.type}: {hardware}{threads}; median and range of {repeats} rounds"
    plot = out.with_suffix(".png")
    _draw(rows, caption, lines).savefig(plot, dpi=_RESOLUTION)
    logger.info("Written to %s and %s", out, plot.name)
    return rows


def table_of(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Rows for a terminal, by their names; a row need not have a value in each column."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [["", *(column.replace("_", " ") for column in columns)]]
    cells += [
        [name, *(_cell(column, row.get(column)) for column in columns)]
        for name, row in rows.items()
    ]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])])
        for first, *others in cells
    )


def _cell(column: str, value: Optional[float]) -> str:
    if value is None:
        return ""
    if column.endswith("bytes"):
        return f"{value / 1e9:.3f} GB"
    if abs(value) >= 1000 or isinstance(value, int):
        return f"{value:,.0f}"
    return f"{value:.3f}"


def _draw(rows: Dict[str, Dict[str, float]], caption: str, lines: Optional[Lines]) -> Figure:
    height = 4.0 if lines else 1.0 + 0.32 * len(rows)
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    if lines:
        _draw_lines(axes, rows, lines)
    else:
        _draw_bars(axes, rows)
    figure.supxlabel(caption, fontsize=8, color="dimgray", x=0.99, ha="right")
    return figure


def _draw_bars(axes: Axes, rows: Dict[str, Dict[str, float]]) -> None:
    medians = [row["median_seconds"] for row in rows.values()]
    axes.barh(
        list(rows),
        medians,
        xerr=_ranges(list(rows.values())),
        height=0.65,
        color="tab:blue",
        alpha=0.75,
        error_kw={"elinewidth": 1, "capsize": 2},
    )
    longest = max(row["max_seconds"] for row in rows.values())
    for index, row in enumerate(rows.values()):
        axes.text(
            row["max_seconds"] + 0.01 * longest,
            index,
            f"{row['median_seconds']:.3g} s",
            va="center",
            fontsize=8,
        )
    axes.set_xlim(0, 1.12 * longest)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("seconds")


def _draw_lines(axes: Axes, rows: Dict[str, Dict[str, float]], lines: Lines) -> None:
    names = {name: None for name, _ in lines.points.values()}
    for line in names:
        points = sorted((x, name) for name, (of, x) in lines.points.items() if of == line)
        drawn = [rows[name] for _, name in points]
        axes.errorbar(
            [x for x, _ in points],
            [row["median_seconds"] for row in drawn],
            yerr=_ranges(drawn),
            marker="o",
            markersize=4,
            capsize=2,
            label=line,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(lines.x_label)
    axes.set_ylabel("seconds")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _ranges(rows: Sequence[Dict[str, float]]) -> Tuple[Sequence[float], Sequence[float]]:
    """How far the least is below the median, and the greatest above."""
    return (
        [row["median_seconds"] - row["min_seconds"] for row in rows],
        [row["max_seconds"] - row["median_seconds"] for row in rows],
    )
