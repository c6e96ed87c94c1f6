"""The common options of the benchmarks, their timing, and their output: a table and a JSON file."""

import argparse
import logging
import os
import platform
import re
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

import pandas
import torch
from allennlp.common import Tqdm

from allennlp_semfit.training.resumable import has_bfloat16_instructions
from experiments.json_files import write_json

RESULTS = Path(__file__).parent / "results"

Timings = Dict[str, List[float]]

logger = logging.getLogger(__name__)


def argument_parser(
    name: str, description: Optional[str], *, is_on_cpu: bool = False
) -> argparse.ArgumentParser:
    """A parser with the options `--repeats`, `--out` and, unless `is_on_cpu`, `--device`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(name=name, device=torch.device("cpu"))
    if not is_on_cpu:
        default = "cuda" if torch.cuda.is_available() else "cpu"
        parser.add_argument(
            "--device", type=torch.device, default=default, help="default: cuda if there is one"
        )
    parser.add_argument(
        "--repeats", type=int, default=5, help="rounds after the warm-up; default: 5"
    )
    out = f"JSON file; default: benchmarks/results/{name}-DEVICE.json"
    parser.add_argument("--out", type=Path, help=out)
    return parser


def parse_arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parses the arguments, fills in `out` and configures logging."""
    args = parser.parse_args()
    args.out = args.out or RESULTS / f"{args.name}-{args.device.type}.json"
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("benchmarks").setLevel(logging.INFO)
    return args


def time_interleaved(
    candidates: Dict[str, Callable[[], Any]], *, repeats: int, device: torch.device
) -> Timings:
    """
    Runs every candidate once as a warm-up, then `repeats` rounds of all candidates in turn, so that
    other load on the machine affects all of them equally. Returns the seconds of each run.
    """

    def synchronize() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    def run(candidate: Callable[[], Any]) -> float:
        synchronize()
        start = time.perf_counter()
        candidate()
        synchronize()
        return time.perf_counter() - start

    seconds: Timings = {name: [] for name in candidates}
    for candidate in Tqdm.tqdm(candidates.values(), desc="warming up"):
        # CUDA graphs are captured in the second run.
        for _ in range(3 if device.type == "cuda" else 1):
            run(candidate)
    for _ in Tqdm.tqdm(range(repeats), desc="rounds"):
        for name, candidate in candidates.items():
            seconds[name].append(run(candidate))
    return seconds


def report(
    args: argparse.Namespace,
    timings: Timings,
    reference: Union[str, Mapping[str, str]],
    measures: Optional[Mapping[str, Mapping[str, float]]] = None,
    **facts: Any,
) -> None:
    """
    Logs a table of the timings, the speedups over the reference, which may be another one for each
    candidate, and other measures. Writes it as JSON with the machine, the options and the `facts`.
    """
    if isinstance(reference, str):
        column, references = f"speedup over {reference}", dict.fromkeys(timings, reference)
    else:
        column, references = "speedup over reference", dict(reference)
    rows: Dict[str, Dict[str, float]] = {
        name: {
            "min_seconds": min(seconds),
            "median_seconds": statistics.median(seconds),
            "max_seconds": max(seconds),
            column: statistics.median(timings[references[name]]) / statistics.median(seconds),
            **(measures or {}).get(name, {}),
        }
        for name, seconds in timings.items()
    }
    table = pandas.DataFrame(rows).T.map(lambda x: f"{x:.3f}" if abs(x) < 1000 else f"{x:,.0f}")
    logger.info("\n%s", table.to_string())
    device = args.device
    processor = re.search(r"^model name\s*: *(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    hardware = processor[1] if processor else platform.machine()
    if device.type == "cuda":
        hardware = torch.cuda.get_device_name(device)
    machine = {
        "hardware": hardware,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "bfloat16_instructions": has_bfloat16_instructions(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "device": str(device),
    }
    options = {key: vars(args)[key] for key in vars(args) if key not in ("name", "out", "device")}
    write_json(args.out, {**machine, **options, **facts, "timings": rows})
    logger.info("Wrote %s", args.out)
