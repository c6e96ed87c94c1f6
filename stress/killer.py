"""Kills commands, and runs them again: the result must be that of a run that was not killed."""

import mmap
import os
import re
import signal
import struct
import sys
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Iterator, List, Mapping, NamedTuple, Sequence, Tuple, Union

from allennlp_semfit.common.parallel import ordered_map
from stress.child import Ended
from stress.commands import SECONDS, Work, all_in, describe_files
from stress.report import Outcome, location

__all__ = [
    "KILLED",
    "MARK",
    "Case",
    "Commands",
    "Uninterrupted",
    "interruptions",
    "kill",
    "run_uninterrupted",
    "watch_files",
]

KILLED = ("train", "embed", "prepare-corpus", "train-fasttext", "count-vocabulary", "train-bpe")
"""The names of the commands that are killed."""

MARK = "Signal before "
"""Begins the line that a command writes when it reaches the event of its signal."""

_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}


class Uninterrupted(NamedTuple):
    """
    A run that was not interrupted.

    # Parameters

    digest : `Any`
    files : `List[str]`
        The names of the files of its output.
    seconds : `float`
    events : `int`
        How often it opened a file for writing, renamed one and so on.
    out : `Path`
        Its output, which stays.
    """

    digest: Any
    files: List[str]
    seconds: float
    events: int
    out: Path


Commands = Mapping[str, Uninterrupted]
"""The runs of commands to test, by name."""


def run_uninterrupted(name: str, inputs: Path, place: Path) -> Uninterrupted:
    """Runs a command in `place`."""
    work = Work(name, inputs, place)
    counter = mmap.mmap(-1, 8)
    started = time.monotonic()
    ended = work.run(before=partial(watch_files, work.place, counter))
    seconds = time.monotonic() - started
    leftovers = work.leftovers()
    if ended.code or ended.orphaned or leftovers:
        raise RuntimeError(f"{name} fails, or leaves {leftovers}:\n{ended.output[-3000:]}")
    (events,) = struct.unpack("q", counter[:])
    return Uninterrupted(work.digest(), all_in(place), seconds, events, work.out)


def watch_files(
    directory: Path, counter: mmap.mmap, at: int = 0, number: int = signal.SIGKILL
) -> None:
    """
    Counts what this process does to the files in a directory: each opening for writing, renaming,
    removal and so on.

    # Parameters

    directory : `Path`
    counter : `mmap.mmap`
        Eight bytes for the count.
    at : `int`, optional (default = `0`)
        Before this event, counted from 1, the process gets a signal.
    number : `int`, optional (default = `9`)
        The number of the signal.
    """
    process = os.getpid()

    def watch(event: str, arguments: Tuple[Any, ...]) -> None:
        if event not in _EVENTS or os.getpid() != process:
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        path = arguments[0]
        # Trees are removed with names relative to a descriptor.
        if not isinstance(path, str) or (path.startswith("/") and not path.startswith(within)):
            return
        count = struct.unpack("q", counter[:])[0] + 1
        counter[:] = struct.pack("q", count)
        if count == at:
            os.write(2, f"{MARK}{event} of {path.replace(within, '…')}\n".encode())
            os.kill(process, number)

    within = str(directory)
    sys.addaudithook(watch)


class Case(NamedTuple):
    """
    A command to interrupt.

    # Parameters

    name : `str`
        The command.
    inputs, place : `Path`
        See `Work`.
    moment : `Union[int, float]`
        The number of an event, or the seconds after the start.
    number : `int`
        The number of the signal.
    expected : `Uninterrupted`
    """

    name: str
    inputs: Path
    place: Path
    moment: Union[int, float]
    number: int
    expected: Uninterrupted

    def run(self, work: Work) -> Tuple[Ended, str]:
        """Runs the command until it ends, and describes the moment."""
        name = signal.Signals(self.number).name
        if isinstance(self.moment, int):
            hook = partial(watch_files, work.place, mmap.mmap(-1, 8), self.moment, self.number)
            ended = work.run(before=hook)
            at = re.search(f"{MARK}.*", ended.output)
            return ended, f"{name} at event {self.moment}: {at[0] if at else 'not reached'}"
        with work.start() as child:
            child.wait(self.moment)
            child.send(self.number)
            ended = child.end(SECONDS)
        return ended, f"{name} after {self.moment:.2f} of {self.expected.seconds:.2f} s"


def interruptions(
    scratch: Path, inputs: Path, commands: Commands, total: int, seed: int, numbers: Sequence[int]
) -> Iterator[Case]:
    """Interrupts each command equally often: twice at an event, then at any time, and so on."""
    for name, expected in commands.items():
        random = Random(f"{seed} {name}")
        for index in range(max(len(numbers), -(-total // len(commands)))):
            moment: Union[int, float] = random.randint(1, max(1, expected.events))
            if index % 3 == 2:
                moment = random.uniform(0, expected.seconds)
            number = numbers[index % len(numbers)]
            place = scratch / f"{name.replace(' ', '-')}-{index}"
            yield Case(name, inputs, place, moment, number, expected)


def kill(
    scratch: Path, inputs: Path, *, commands: Commands, kills: int, seed: int, num_workers: int
) -> Iterator[Outcome]:
    """Kills those of the commands that are in `KILLED`."""
    killed = {name: expected for name, expected in commands.items() if name in KILLED}
    cases = interruptions(scratch, inputs, killed, kills, seed, [signal.SIGKILL])
    yield from ordered_map(_run, cases, num_workers=num_workers, items_per_worker=4)


def _run(case: Case) -> Outcome:
    work = Work(case.name, case.inputs, case.place)
    ended, description = case.run(work)
    verdict, detail = _judge(work, case.expected, ended)
    work.remove()
    return Outcome(case.name, description, verdict, detail)


def _judge(work: Work, expected: Uninterrupted, ended: Ended) -> Tuple[str, str]:
    if ended.hung:
        return "hang", ""
    if ended.code not in (0, -signal.SIGKILL):
        return "failed", location(ended.output)
    if not ended.code:
        return "missed", ""
    if ended.orphaned:
        return "orphan", ""
    is_complete = work.digest() == expected.digest
    if not work.command.keeps and work.out.exists() and not is_complete:
        return "half an output", str(work.digest())[:100]
    again = work.repeat(is_complete=is_complete)
    if again.hung:
        return "hang", "when it was run again"
    if again.code:
        return "lost", location(again.output)
    digest = work.digest()
    if digest != expected.digest:
        return "wrong result", _difference(digest, expected.digest)
    # Half of a checkpoint is renamed, not removed.
    left = {name for name in all_in(work.place) if not name.endswith(".incomplete")}
    left -= set(expected.files)
    return ("leftover", describe_files(left)) if left else ("ok", "")


def _difference(found: Any, expected: Any) -> str:
    if isinstance(found, tuple) and isinstance(expected, tuple):
        parts = [f"part {i}" for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]]
        if isinstance(found[1], dict):
            keys = [key for key, value in expected[1].items() if found[1].get(key) != value]
            parts += keys
        return f"differs in {', '.join(parts)}"[:200]
    return f"differs: {str(found)[:150]}"
