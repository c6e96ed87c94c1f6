"""The common options of the benchmarks, and their output: a table, a JSON file and a plot."""

import argparse
import logging
import os
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tabulate import tabulate

from allennlp_semfit.common.cpu import has_bfloat16_instructions, processor_name
from benchmarks.timing import Timings
from experiments.json_files import write_json

__all__ = [
    "RESULTS",
    "Lines",
    "argument_parser",
    "parse_arguments",
    "report",
]

RESULTS = Path(__file__).parent / "results"
# The pages show the plots of the committed results.
_PLOTS = RESULTS.parent.parent / "docs" / "images" / "benchmarks"

# In inches and dots per inch.
_WIDTH, _RESOLUTION = 7.0, 120

Measures = Mapping[str, Mapping[str, float]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lines:
    """
    Makes `report` plot the seconds as lines over a quantity instead of bars.

    # Parameters

    x_label : `str`
        The label of the x axis, with the unit.
    points : `Dict[str, Tuple[str, float]]`
        The line and the x value of each candidate. Other candidates are not plotted.
    """

    x_label: str
    points: Dict[str, Tuple[str, float]]


def argument_parser(
    name: str, description: Optional[str], *, is_on_cpu: bool = False
) -> argparse.ArgumentParser:
    """
    A parser with the common options `--repeats`, `--out` and, unless `is_on_cpu`, `--device`.

    # Parameters

    name : `str`
        The name of the benchmark, with which its result files begin.
    description : `str`
        The docstring of the module, for `--help`.
    is_on_cpu : `bool`, optional (default = `False`)
        The benchmark does not use a GPU.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(name=name, device=torch.device("cpu"))
    if not is_on_cpu:
        parser.add_argument(
            "--device",
            type=torch.device,
            default="cuda" if torch.cuda.is_available() else "cpu",
            help="default: cuda if there is one, else cpu",
        )
    parser.add_argument(
        "--repeats", type=int, default=5, help="rounds after the warm-up; default: 5"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help=f"JSON file; default: benchmarks/results/{name}-DEVICE.json",
    )
    return parser


def parse_arguments(
    parser: argparse.ArgumentParser, arguments: Optional[Sequence[str]] = None
) -> argparse.Namespace:
    """
    Parses the arguments, by default those of the command line, fills in `out` and configures
    logging.
    """
    args = parser.parse_args(arguments)
    if args.repeats < 1:
        parser.error(f"--repeats is {args.repeats}; it must be at least 1.")
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
    titles: Optional[Mapping[str, str]] = None,
    **facts: Any,
) -> Dict[str, Dict[str, float]]:
    """
    Logs a table of the timings and the speed-ups over the reference, writes it as JSON with the
    machine and the `facts`, and plots it.

    # Parameters

    timings : `Timings`
        The timings of at least one candidate.
    reference : `Union[str, Mapping[str, str]]`
        The candidate to compare with, or one for each candidate.
    out : `Path`
        The JSON file. The plot of `RESULTS` is in `docs/images/benchmarks`, others are beside it.
    device : `torch.device`
        The device of the timings.
    measures : `Mapping[str, Mapping[str, float]]`, optional (default = `None`)
        More columns by candidate: `{"elmo": {"parameters": …, "peak_memory_bytes": …}}`.
    lines : `Lines`, optional (default = `None`)
        Plots lines instead of a bar for each candidate.
    titles : `Mapping[str, str]`, optional (default = `None`)
        What the plot calls the candidates, by name. Their bars then show the speed-ups over the
        first.
    **facts
        More entries for the JSON file, such as sizes.

    # Returns

    `Dict[str, Dict[str, float]]`
        The rows of the table by candidate.
    """
    if isinstance(reference, str):
        column, references = f"speedup over {reference}", dict.fromkeys(timings, reference)
    else:
        column, references = "speedup over reference", dict(reference)
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
    logger.info("\n%s", _format_table(rows))
    hardware = torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name()
    machine = {
        "hardware": hardware,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "bfloat16_instructions": has_bfloat16_instructions(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "device": str(device),
    }
    repeats = len(next(iter(timings.values())))
    write_json(out, {**machine, **facts, "repeats": repeats, "timings": rows})
    threads = "" if device.type == "cuda" else f", threads: {machine['threads']}"
    caption = f"{device.type}: {hardware}{threads}; median and range of {repeats} rounds"
    plot = _plot_path(out)
    _draw(rows, caption, lines, titles).savefig(plot, dpi=_RESOLUTION)
    logger.info("Wrote %s and %s", out, plot)
    return rows


def _plot_path(out: Path) -> Path:
    """The plot of a JSON file: in `docs/images/benchmarks` for `RESULTS`, else next to it."""
    directory = _PLOTS if out.parent.resolve() == RESULTS.resolve() else out.parent
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{out.stem}.png"


def _format_table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """A plain-text table of rows by name. Rows may lack columns."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [
        [name, *(_cell(column, row.get(column)) for column in columns)]
        for name, row in rows.items()
    ]
    header = ["", *(column.replace("_", " ") for column in columns)]
    alignment = ["left", *["right"] * len(columns)]
    return tabulate(cells, header, "plain", disable_numparse=True, colalign=alignment)


def _cell(column: str, value: Optional[float]) -> str:
    if value is None:
        return ""
    if column.endswith("bytes"):
        return f"{value / 1e9:.3f} GB"
    if abs(value) >= 1000 or isinstance(value, int):
        return f"{value:,.0f}"
    return f"{value:.3f}"


def _draw(
    rows: Dict[str, Dict[str, float]],
    caption: str,
    lines: Optional[Lines],
    titles: Optional[Mapping[str, str]],
) -> Figure:
    height = 4.0 if lines else 1.0 + 0.32 * len(rows)
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    if lines:
        _draw_lines(axes, rows, lines)
    else:
        _draw_bars(axes, rows, titles)
    figure.supxlabel(caption, fontsize=8, color="dimgray", x=0.99, ha="right")
    return figure


def _draw_bars(
    axes: Axes, rows: Dict[str, Dict[str, float]], titles: Optional[Mapping[str, str]]
) -> None:
    medians = [row["median_seconds"] for row in rows.values()]
    axes.barh(
        [titles[name] for name in rows] if titles else list(rows),
        medians,
        xerr=_ranges(list(rows.values())),
        height=0.65,
        color="tab:blue",
        alpha=0.75,
        error_kw={"elinewidth": 1, "capsize": 2},
    )
    longest = max(row["max_seconds"] for row in rows.values())
    for index, row in enumerate(rows.values()):
        label = f"{row['median_seconds']:.3g} s"
        if titles:
            (speed_up,) = (row[column] for column in row if column.startswith("speedup"))
            label += f"   {speed_up:.1f}×"
        axes.text(
            row["max_seconds"] + 0.01 * longest,
            index,
            label,
            va="center",
            fontsize=8,
        )
    axes.set_xlim(0, 1.2 * longest if titles else 1.12 * longest)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"seconds; × as fast as {next(iter(titles.values()))}" if titles else "seconds")


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
    """The distances from the median to the minimum and to the maximum."""
    return (
        [row["median_seconds"] - row["min_seconds"] for row in rows],
        [row["max_seconds"] - row["median_seconds"] for row in rows],
    )
