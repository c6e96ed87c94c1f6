"""Reads damaged files. Whatever is in a file, reading must succeed, or end with a clear error."""

import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.parallel import ordered_map
from stress.child import Child
from stress.formats import FORMATS, WrongResultError
from stress.mutations import mutate
from stress.report import GOOD, Outcome, location

__all__ = ["Case", "fuzz", "judge", "share_out"]

_MEMORY = 2**30
_CPU_SECONDS = 30
_CLEAR_ERROR = 3
_VERDICTS = {0: "ok", _CLEAR_ERROR: "clear error"}
_OUT_OF_MEMORY = ("MemoryError", "can't allocate memory", "bad_alloc", "Unable to allocate")


class Case(NamedTuple):
    """
    One mutation.

    # Parameters

    name : `str`
        The format.
    sample : `Path`
        The directory with the undamaged input.
    number, seed : `int`
        They determine the mutation.
    keep : `Path`, optional
        Where the input goes if it leads to a finding.
    """

    name: str
    sample: Path
    number: int
    seed: int
    keep: Optional[Path] = None


def fuzz(
    scratch: Path,
    *,
    formats: List[str],
    mutations: int,
    first: int,
    seed: int,
    num_workers: int,
    keep: Optional[Path],
) -> Iterator[Outcome]:
    """
    # Parameters

    scratch : `Path`
        A directory for temporary files.
    formats : `List[str]`
        The keys of `FORMATS` to test.
    mutations, first : `int`
        How many mutations of all formats together, and the number of the first one of each.
    """
    cases = []
    for name, number in share_out(
        {name: FORMATS[name].share for name in formats}, mutations
    ).items():
        sample = scratch / name.replace(" ", "-")
        sample.mkdir()
        made = Child(partial(FORMATS[name].make, sample)).end(600)
        if made.code:
            raise RuntimeError(f"{name}: there is no valid input:\n{made.output}")
        # Of a copy, because reading may write beside it.
        undamaged = shutil.copytree(sample, scratch / "undamaged")
        verdict, detail = judge(partial(FORMATS[name].read, undamaged), undamaged)
        if verdict != "ok":
            raise RuntimeError(f"{name}: the undamaged input is refused: {detail}")
        shutil.rmtree(undamaged)
        cases += [Case(name, sample, first + index, seed, keep) for index in range(number)]
    yield from ordered_map(_run, cases, num_workers=num_workers, items_per_worker=4)


def share_out(shares: Mapping[str, int], total: int) -> Dict[str, int]:
    """Divides a number in proportion to the shares, with at least 1 for each."""
    return {name: max(1, total * share // sum(shares.values())) for name, share in shares.items()}


def _run(case: Case) -> Outcome:
    random = Random(f"{case.seed} {case.name} {case.number}")
    form = FORMATS[case.name]
    directory = case.sample.with_name(f"{case.sample.name}-{case.number}")
    shutil.copytree(case.sample, directory)
    target = random.choice(sorted(filter(Path.is_file, directory.glob(form.targets))))
    damaged = mutate(target.read_bytes(), random, form.strings)
    target.write_bytes(damaged)
    named = directory / form.named if form.named else target
    verdict, detail = judge(partial(form.read, directory), named)
    if verdict not in GOOD and case.keep:
        kept = case.keep / directory.name
        shutil.copytree(case.sample, kept, dirs_exist_ok=True)
        (kept / target.relative_to(directory)).write_bytes(damaged)
    shutil.rmtree(directory)
    options = f"--parts fuzz --seed {case.seed} --formats '{case.name}' --first {case.number}"
    options += " --mutations 1"
    return Outcome(case.name, f"{options} ({target.name})", verdict, detail)


def judge(read: Callable[[], Any], named: Path, *, seconds: int = _CPU_SECONDS) -> Tuple[str, str]:
    """
    Reads a file in a child process.

    # Parameters

    read : `Callable[[], Any]`
    named : `Path`
        The file or directory that an error must name.
    seconds : `int`, optional (default = `30`)
        What reading may take of the processor; four times that by the clock.

    # Returns

    `Tuple[str, str]`
        The verdict and the detail of an `Outcome`.
    """
    child = Child(partial(_read, read, str(named)), memory=_MEMORY, cpu_seconds=seconds)
    ended = child.end(4 * seconds)
    if ended.hung:
        return "hang", ""
    if ended.code in _VERDICTS:
        return _VERDICTS[ended.code], ""
    detail = location(ended.output)
    if any(sign in ended.output for sign in _OUT_OF_MEMORY):
        return "out of memory", detail
    if ended.code < 0:
        return "crash", f"{signal.Signals(-ended.code).name} {detail}".strip()
    return "wrong result" if WrongResultError.__name__ in detail else "unnamed error", detail


def _read(read: Callable[[], Any], named: str) -> None:
    try:
        read()
    except ConfigurationError as error:
        if named in str(error):
            sys.exit(_CLEAR_ERROR)
        raise
