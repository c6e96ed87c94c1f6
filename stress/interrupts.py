"""SIGINT and SIGTERM, and two processes that write the same output."""

import signal
from pathlib import Path
from random import Random
from typing import Any, Iterator, List, NamedTuple, Tuple

from allennlp_semfit.common.parallel import ordered_map
from stress.child import Ended
from stress.commands import SECONDS, Work, describe_files
from stress.killer import MARK, Case, Commands, Uninterrupted, interruptions
from stress.report import Outcome, location

__all__ = ["interrupt", "write_together"]


def interrupt(
    scratch: Path, inputs: Path, *, commands: Commands, signals: int, seed: int, num_workers: int
) -> Iterator[Outcome]:
    """Sends SIGINT and SIGTERM to each command."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    cases = interruptions(scratch, inputs, commands, signals, seed, numbers)
    yield from ordered_map(_interrupt, cases, num_workers=num_workers, items_per_worker=4)


def _interrupt(case: Case) -> Outcome:
    work = Work(case.name, case.inputs, case.place)
    ended, description = case.run(work)
    verdict, detail = _judge_interrupted(work, ended, case.number, case.expected.digest)
    work.remove()
    return Outcome(case.name, description, verdict, detail)


def _judge_interrupted(work: Work, ended: Ended, number: int, expected: Any) -> Tuple[str, str]:
    name = signal.Signals(number).name
    if ended.hung:
        return "hang", name
    # AllenNLP parses the command line, with our subparsers.
    is_early = "Traceback" in ended.output and (
        "allennlp_semfit/" not in ended.output or "in add_subparser" in ended.output
    )
    # Sent at some time, it may come before our code handles it, or after the end.
    is_missed = ended.code in (0, -number) and MARK not in ended.output
    if is_missed or (is_early and work.command.is_ours):
        return "missed", ""
    if ended.orphaned:
        return "orphan", name
    if ended.code != 128 + number:
        return "wrong exit code", f"{name} {ended.code}"
    if not work.command.is_clear(ended, "interrupted"):
        return "unclear message", f"{name} {location(ended.output)}"
    left = set(work.unexpected())
    # It may come when the output is complete.
    if work.digest() == expected:
        left &= set(work.leftovers())
    return ("leftover", describe_files(sorted(left))) if left else ("ok", "")


class _Pair(NamedTuple):
    name: str
    inputs: Path
    place: Path
    # The seconds from the start of the first process to that of the second.
    delay: float
    expected: Uninterrupted


def write_together(
    scratch: Path, inputs: Path, *, commands: Commands, pairs: int, seed: int, num_workers: int
) -> Iterator[Outcome]:
    """Starts each command twice, with the same output."""
    cases = []
    for name, expected in commands.items():
        random = Random(f"{seed} {name}")
        for index in range(max(2, pairs // len(commands))):
            # At most half a run, so that both write at the same time.
            delay = random.uniform(0, expected.seconds / 2)
            place = scratch / f"{name.replace(' ', '-')}-{index}"
            cases.append(_Pair(name, inputs, place, delay, expected))
    yield from ordered_map(_write_together, cases, num_workers=num_workers, items_per_worker=4)


def _write_together(case: _Pair) -> Outcome:
    work = Work(case.name, case.inputs, case.place)
    with work.start() as first:
        first.wait(case.delay)
        with work.start() as second:
            ended = [child.end(SECONDS) for child in (first, second)]
    verdict, detail = _judge_pair(work, case.expected, ended)
    work.remove()
    return Outcome(case.name, f"the second one {case.delay:.2f} s later", verdict, detail)


def _judge_pair(work: Work, expected: Uninterrupted, ended: List[Ended]) -> Tuple[str, str]:
    if any(each.hung for each in ended):
        return "hang", ""
    if any(each.orphaned for each in ended):
        return "orphan", ""
    if work.digest() != expected.digest:
        return "wrong result", location("".join(each.output for each in ended))
    losers = [
        each
        for each in ended
        if each.code or (work.command.done and work.command.done in each.output)
    ]
    if not losers:
        return "both wrote", ""
    for each in losers:
        if each.code and not work.command.is_clear(each, str(work.place)):
            return "unnamed error", location(each.output)
    leftovers = work.leftovers()
    return ("leftover", describe_files(leftovers)) if leftovers else ("ok", "")
