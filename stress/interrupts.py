"""SIGINT and SIGTERM, and two processes that write the same output."""

import signal
from pathlib import Path
from random import Random
from typing import Iterator, List, NamedTuple, Tuple

from allennlp_semfit.common.parallel import ordered_map
from stress.child import Ended
from stress.commands import SECONDS, Work
from stress.killer import Uninterrupted, run_uninterrupted
from stress.report import Outcome, location

__all__ = ["interrupt", "write_together"]

_NOTHING_TO_DO = "Nothing to do"


class _Case(NamedTuple):
    name: str
    inputs: Path
    place: Path
    # The seconds until the signal, or the second process.
    delay: float
    expected: Uninterrupted
    number: int = 0


def interrupt(
    scratch: Path, inputs: Path, *, commands: List[str], signals: int, seed: int, num_workers: int
) -> Iterator[Outcome]:
    """Sends each command SIGINT and SIGTERM at any time."""
    cases = _cases(scratch, inputs, commands, signals, seed)
    numbered = [
        case._replace(number=(signal.SIGINT, signal.SIGTERM)[index % 2])
        for index, case in enumerate(cases)
    ]
    yield from ordered_map(_interrupt, numbered, num_workers=num_workers, items_per_worker=4)


def write_together(
    scratch: Path, inputs: Path, *, commands: List[str], pairs: int, seed: int, num_workers: int
) -> Iterator[Outcome]:
    """Starts each command twice, with the same output."""
    cases = _cases(scratch, inputs, commands, pairs, seed)
    yield from ordered_map(_write_together, cases, num_workers=num_workers, items_per_worker=4)


def _cases(
    scratch: Path, inputs: Path, commands: List[str], total: int, seed: int
) -> Iterator[_Case]:
    for name in commands:
        place = scratch / name.replace(" ", "-")
        expected = run_uninterrupted(name, inputs, place)
        random = Random(f"{seed} {name}")
        for number in range(max(2, total // len(commands))):
            delay = random.uniform(0, expected.seconds)
            yield _Case(name, inputs, place.with_name(f"{place.name}-{number}"), delay, expected)


def _interrupt(case: _Case) -> Outcome:
    work = Work(case.name, case.inputs, case.place)
    name = signal.Signals(case.number).name
    child = work.start()
    child.wait(case.delay)
    child.send(case.number)
    ended = child.end(SECONDS)
    verdict, detail = _judge_interrupted(work, ended, case.number)
    work.remove()
    moment = f"{case.delay:.2f} of {case.expected.seconds:.2f} s"
    return Outcome(case.name, f"{name} after {moment}", verdict, detail)


def _judge_interrupted(work: Work, ended: Ended, number: int) -> Tuple[str, str]:
    name = signal.Signals(number).name
    if ended.hung:
        return "hang", name
    if ended.code == 0:
        return "too late", ""
    if ended.orphaned:
        return "orphan", name
    if "Traceback" in ended.output:
        return "traceback", f"{name} {location(ended.output)}"
    if ended.code != 128 + number:
        return "wrong exit code", f"{name} {ended.code}"
    if not ended.last_line.startswith(f"{work.name}: interrupted"):
        return "unclear message", f"{name} {location(ended.last_line)}"
    unexpected = work.unexpected()
    return ("leftover", ", ".join(unexpected)[:200]) if unexpected else ("ok", "")


def _write_together(case: _Case) -> Outcome:
    work = Work(case.name, case.inputs, case.place)
    # At most half a run later, so that both write at the same time.
    delay = case.delay / 2
    children = [work.start()]
    children[0].wait(delay)
    children.append(work.start())
    ended = [child.end(SECONDS) for child in children]
    verdict, detail = _judge_pair(work, case.expected, ended)
    work.remove()
    return Outcome(case.name, f"the second one {delay:.2f} s later", verdict, detail)


def _judge_pair(work: Work, expected: Uninterrupted, ended: List[Ended]) -> Tuple[str, str]:
    if any(each.hung for each in ended):
        return "hang", ""
    if any(each.orphaned for each in ended):
        return "orphan", ""
    if work.digest() != expected.digest:
        return "wrong result", location("".join(each.output for each in ended))
    losers = [each for each in ended if each.code or _NOTHING_TO_DO in each.output]
    if not losers:
        return "both wrote", ""
    for each in losers:
        line = each.last_line
        is_clear = line.startswith(f"{work.name}: ") and str(work.place) in line
        if each.code and ("Traceback" in each.output or not is_clear):
            return "unnamed error", location(each.output)
    leftovers = work.leftovers()
    return ("leftover", ", ".join(leftovers)) if leftovers else ("ok", "")
