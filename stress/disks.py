"""Full disks: a clear error, nothing left, and an earlier output as it was."""

import ctypes
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Callable, Dict, Iterator, NamedTuple

from allennlp_semfit.common.parallel import ordered_map
from stress.commands import COMMANDS, Work, describe_files, files_in
from stress.killer import Commands, Uninterrupted
from stress.report import Outcome, location

__all__ = ["fill_disks"]

_PAGE = 4096
# `CLONE_NEWNS` of sched.h.
_NEW_MOUNTS = 0x20000


class _Case(NamedTuple):
    name: str
    inputs: Path
    place: Path
    # A complete output is there already.
    replaces: bool
    # Free space, as a fraction of the output's size.
    share: float
    expected: Uninterrupted
    can_mount: bool


def fill_disks(
    scratch: Path, inputs: Path, *, commands: Commands, disks: int, seed: int, num_workers: int
) -> Iterator[Outcome]:
    """
    Runs each command on disks too small for its output: every second time to replace an output.
    Where file systems cannot be mounted, the size of each file is limited instead.
    """
    can_mount = _can_mount(scratch / "mount")
    cases = []
    for name, expected in commands.items():
        random = Random(f"{seed} {name}")
        for number in range(max(2, disks // len(commands))):
            share = random.choice((0.0, random.uniform(0, 0.9)))
            place = scratch / f"{name.replace(' ', '-')}-{number}"
            replaces = number % 2 == 1 and bool(COMMANDS[name].force)
            cases.append(_Case(name, inputs, place, replaces, share, expected, can_mount))
    yield from ordered_map(_run, cases, num_workers=num_workers, items_per_worker=4)


def _run(case: _Case) -> Outcome:
    work = Work(case.name, case.inputs, case.place)
    output = case.expected.out
    files = [output] if output.is_file() else list(output.rglob("*"))
    sizes = [file.stat().st_size for file in files if file.is_file()]
    limits: Dict[str, Any] = {}
    with _small_disk(work.place, case.can_mount) as resize:
        if case.replaces:
            copy = shutil.copytree if output.is_dir() else shutil.copyfile
            copy(output, work.out)
        if case.can_mount:
            resize(int(case.share * sum(sizes)))
        else:
            limits["file_size"] = max(_PAGE, int(case.share * max(sizes)))
        before = files_in(work.place)
        ended = work.run(work.command.force if case.replaces else "", **limits)
        after = files_in(work.place)
        is_whole = ended.code == 0 and work.digest() == case.expected.digest
        unexpected = work.unexpected()
    work.remove()
    description = f"room for {case.share:.0%} of it{', to replace an output' * case.replaces}"
    verdict, detail = "clear error", ""
    changed = [name for name in before if after.get(name) != before[name]]
    if ended.hung:
        verdict = "hang"
    elif ended.code < 0:
        verdict, detail = "crash", signal.Signals(-ended.code).name
    elif ended.code == 0:
        verdict = "ok" if is_whole else "wrong result"
    elif not work.command.is_clear(ended, str(work.place)):
        verdict, detail = "unnamed error", location(ended.output)
    elif changed and not work.command.resume:
        verdict, detail = "earlier output harmed", describe_files(changed)
    elif set(unexpected) - set(before):
        verdict, detail = "leftover", describe_files(set(unexpected) - set(before))
    elif ended.orphaned:
        verdict = "orphan"
    return Outcome(case.name, description, verdict, detail)


def _can_mount(place: Path) -> bool:
    place.mkdir()
    try:
        # What is mounted goes with this process and its children, however they end.
        if ctypes.CDLL(None).unshare(_NEW_MOUNTS):
            return False
        subprocess.run(["mount", "--make-rprivate", "/"], check=True, stderr=subprocess.DEVNULL)
        with _small_disk(place, True):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextmanager
def _small_disk(place: Path, mounted: bool) -> Iterator[Callable[[int], Any]]:
    """Mounts a disk of 64 MB, and yields a function that leaves only so many bytes of it free."""
    if not mounted:
        yield lambda free: None
        return

    def mount(options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)

    def leave(free: int) -> None:
        state = os.statvfs(place)
        used = (state.f_blocks - state.f_bfree) * state.f_bsize
        mount(f"remount,size={max(used + free, _PAGE)}")

    mount(f"size={2**26}")
    try:
        yield leave
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
