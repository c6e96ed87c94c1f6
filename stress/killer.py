"""Kills commands, and runs them again: the result must be that of a run that was not killed."""

import mmap
import os
import signal
import struct
import sys
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Iterator, List, NamedTuple, Tuple, Union

from allennlp_semfit.common.parallel import ordered_map
from stress.commands import Work
from stress.report import Outcome, location

__all__ = ["KILLED", "Uninterrupted", "kill", "run_uninterrupted", "watch_files"]

KILLED = ("train", "embed", "prepare-corpus", "train-fasttext", "count-vocabulary", "train-bpe")
"""The names of the commands that are killed."""

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
    """

    digest: Any
    files: List[str]
    seconds: float
    events: int


def run_uninterrupted(name: str, inputs: Path, place: Path) -> Uninterrupted:
    """Runs a command in `place`, where its output stays."""
    work = Work(name, inputs, place)
    counter = mmap.mmap(-1, 8)
    started = time.monotonic()
    ended = work.run(before=partial(watch_files, work.place, counter))
    seconds = time.monotonic() - started
    leftovers = work.leftovers()
    if ended.code or ended.orphaned or leftovers:
        raise RuntimeError(f"{name} fails, or leaves {leftovers}:\n{ended.output}")
    files = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
    return Uninterrupted(work.digest(), files, seconds, struct.unpack("q", counter[:])[0])


def watch_files(directory: Path, counter: mmap.mmap, kill_at: int = 0) -> None:
    """
    Counts what this process does to the files in a directory: each opening for writing, renaming,
    removal and so on.

    # Parameters

    directory : `Path`
    counter : `mmap.mmap`
        Eight bytes for the number.
    kill_at : `int`, optional (default = `0`)
        Before the event of this number, the process is killed.
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
        number = struct.unpack("q", counter[:])[0] + 1
        counter[:] = struct.pack("q", number)
        if number == kill_at:
            os.write(2, f"killed before {event} {os.path.relpath(path, within)}\n".encode())
            os.kill(process, signal.SIGKILL)

    within = str(directory)
    sys.addaudithook(watch)


class _Case(NamedTuple):
    name: str
    inputs: Path
    place: Path
    # The number of an event, or the seconds after the start.
    moment: Union[int, float]
    expected: Uninterrupted


def kill(
    scratch: Path, inputs: Path, *, commands: List[str], kills: int, seed: int, num_workers: int
) -> Iterator[Outcome]:
    """Kills each command equally often, at events and at any time in turn."""
    names = [name for name in commands if name in KILLED]
    cases = []
    for name in names:
        expected = run_uninterrupted(name, inputs, scratch / f"{name}-uninterrupted")
        random = Random(f"{seed} {name}")
        for number in range(-(-kills // len(names))):
            moment: Union[int, float] = random.randint(1, expected.events)
            if number % 3 == 2:
                moment = random.uniform(0, expected.seconds)
            cases.append(_Case(name, inputs, scratch / f"{name}-{number}", moment, expected))
    yield from ordered_map(_run, cases, num_workers=num_workers, items_per_worker=4)


def _run(case: _Case) -> Outcome:
    work = Work(case.name, case.inputs, case.place)
    if isinstance(case.moment, int):
        description = f"at event {case.moment} of {case.expected.events}"
        hook = partial(watch_files, case.place, mmap.mmap(-1, 8), case.moment)
        ended = work.run(before=hook)
        description += f", {ended.last_line}"
    else:
        description = f"after {case.moment:.2f} of {case.expected.seconds:.2f} s"
        child = work.start()
        child.wait(case.moment)
        child.send(signal.SIGKILL)
        ended = child.end(60)
    verdict, detail = _judge(work, case.expected, ended.code, ended.orphaned)
    work.remove()
    return Outcome(case.name, description, verdict, detail)


def _judge(work: Work, expected: Uninterrupted, code: int, orphaned: bool) -> Tuple[str, str]:
    if code != -signal.SIGKILL:
        return "too late", ""
    if orphaned:
        return "orphan", ""
    if not work.command.keeps and work.out.exists() and work.digest() != expected.digest:
        return "half an output", str(work.digest())[:100]
    again = work.resume()
    if again.hung:
        return "hang", "when it was run again"
    if again.code:
        return "lost", location(again.output)
    digest = work.digest()
    if digest != expected.digest:
        return "wrong result", _difference(digest, expected.digest)
    files = {str(path.relative_to(work.place)) for path in work.place.rglob("*")}
    left = sorted(_without_numbers(name) for name in files - set(expected.files))
    return ("leftover", ", ".join(left)) if left else ("ok", "")


def _without_numbers(name: str) -> str:
    return "".join("…" if char.isdigit() else char for char in name)


def _difference(found: Any, expected: Any) -> str:
    if isinstance(found, tuple) and isinstance(expected, tuple):
        parts = [f"part {i}" for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]]
        if isinstance(found[1], dict):
            keys = [key for key, value in expected[1].items() if found[1].get(key) != value]
            parts += keys
        return f"differs in {', '.join(parts)}"[:200]
    return f"differs: {str(found)[:150]}"
