"""
Damages what the package reads, and interrupts what it writes:

    python -m stress --parts fuzz kill --seed 2 --mutations 1000

Prints a report. A full run also writes it to stress/results/; another run only with `--out`.
Exits with 1 if there is a finding. Linux only. For full disks, it mounts file systems where that is
permitted.
"""

import argparse
import logging
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import tests.preload  # noqa: F401 (what a command imports, so that its forks need not)
from allennlp_semfit.common.parallel import available_cpus
from experiments.json_files import write_json
from stress.child import Child
from stress.commands import COMMANDS, make_inputs
from stress.disks import fill_disks
from stress.formats import FORMATS
from stress.fuzzer import fuzz
from stress.interrupts import interrupt, write_together
from stress.killer import KILLED, Commands, kill, run_uninterrupted
from stress.long_run import run_long
from stress.report import GOOD, RESULTS, Outcome, as_text, summarize

logger = logging.getLogger("stress")

_PARTS = ("fuzz", "kill", "disk", "concurrent", "signals", "long")


def _parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m stress",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=_PARTS, metavar="PART")
    parser.add_argument("--seed", type=int, default=1)
    numbers = {
        "mutations": (10_000, "damaged files, of all formats together"),
        "kills": (100, "kills; only the commands in `KILLED`"),
        "disks": (30, "full disks, at least two for each command"),
        "pairs": (30, "pairs of writers, at least two for each command"),
        "signals": (60, "signals, at least two for each command"),
        "updates": (3000, "updates of the long training"),
        "words": (200_000, "words of the long run of embed"),
    }
    for name, (default, text) in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text}; {default:,}")
    for name, known in {"formats": list(FORMATS), "commands": list(COMMANDS)}.items():
        text = f"some of: {', '.join(known)}"
        parser.add_argument(
            f"--{name}", nargs="+", choices=known, default=known, metavar="NAME", help=text
        )
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutation; 0")
    parser.add_argument("--num-workers", type=int, default=available_cpus())
    parser.add_argument("--keep", type=Path, help="directory for the damaged files of findings")
    parser.add_argument("--out", type=Path, help=f"JSON file; of a full run {RESULTS}")
    args = parser.parse_args(arguments)
    is_full = all(
        set(getattr(args, name)) == set(parser.get_default(name))
        for name in ("parts", "formats", "commands")
    ) and all(getattr(args, name) >= default for name, (default, _) in numbers.items())
    args.out = args.out or (RESULTS if is_full else None)
    return args


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stdout)
    logger.setLevel(logging.INFO)
    args = _parse(arguments)
    # So that SIGTERM removes the temporary directory too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    found: Dict[str, Tuple[float, List[Outcome]]] = {}
    with tempfile.TemporaryDirectory(prefix="stress-") as scratch:
        # For what readers of damaged files leave.
        temporary = Path(scratch, "tmp")
        temporary.mkdir()
        tempfile.tempdir = str(temporary)
        inputs = Path(scratch, "inputs")
        if set(args.parts) != {"fuzz"}:
            made = Child(partial(make_inputs, inputs)).end(600)
            if made.code:
                sys.exit(made.output)
        complete = Path(scratch, "complete")
        complete.mkdir()
        expected = {
            name: run_uninterrupted(name, inputs, complete / name.replace(" ", "-"))
            for name in _commands(args)
        }
        for part in args.parts:
            Path(scratch, part).mkdir()
            started = time.monotonic()
            outcomes = []
            for outcome in _parts(args, Path(scratch, part), inputs, expected)[part]():
                outcomes.append(outcome)
                if outcome.verdict not in GOOD:
                    logger.info("%s: %s", part, " | ".join(outcome))
            found[part] = (time.monotonic() - started, outcomes)
    report = summarize(found, seed=args.seed)
    logger.info("\n%s", as_text(report))
    if args.out:
        write_json(args.out, report)
        logger.info("\nWrote %s", args.out)
    sys.exit(bool(report["findings"]))


def _commands(args: argparse.Namespace) -> List[str]:
    """The commands that the parts run."""
    parts = set(args.parts) - {"fuzz", "long"}
    if not parts:
        return []
    return [name for name in args.commands if name in KILLED or parts != {"kill"}]


def _parts(
    args: argparse.Namespace, scratch: Path, inputs: Path, expected: Commands
) -> Dict[str, Callable[[], Iterator[Outcome]]]:
    common = {"seed": args.seed, "num_workers": args.num_workers}
    of_commands = {**common, "commands": expected}
    return {
        "fuzz": lambda: fuzz(
            scratch,
            formats=args.formats,
            mutations=args.mutations,
            first=args.first,
            keep=args.keep,
            **common,
        ),
        "kill": lambda: kill(scratch, inputs, kills=args.kills, **of_commands),
        "disk": lambda: fill_disks(scratch, inputs, disks=args.disks, **of_commands),
        "concurrent": lambda: write_together(scratch, inputs, pairs=args.pairs, **of_commands),
        "signals": lambda: interrupt(scratch, inputs, signals=args.signals, **of_commands),
        "long": lambda: run_long(scratch, inputs, updates=args.updates, words=args.words),
    }


if __name__ == "__main__":
    main()
