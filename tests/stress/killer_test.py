"""Kills a writer that resumes properly, and ones that do not."""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

from stress import child, commands
from stress.child import Child, Ended
from stress.commands import Command, Work
from stress.interrupts import _judge_interrupted, _judge_pair
from stress.killer import MARK, Case, _judge, _run, interruptions, run_uninterrupted
from tests.processes import is_running

CULPRITS = ("good", "stale", "leaves", "lost")
"""What the writers do wrong."""


def write(kind, out, *options):
    """Writes two files, and the mark of completeness last."""
    out = Path(out)
    out.parent.joinpath("partial").write_text("half")
    if kind == "lost" and out.exists():
        sys.exit("write: it is there")
    names = ("1", "2")
    if kind == "lost":
        out.write_text("half")
    if kind == "stale" and out.parent.joinpath("begun").exists():
        names = ("1", "stale")
    if kind == "stale":
        out.parent.joinpath("begun").write_text("")
    new = out.with_name("partial" if kind != "leaves" else f"partial-{os.getpid()}")
    new.write_text("".join(names))
    os.replace(new, out)
    for name in ("partial", "begun"):
        out.with_name(name).unlink(missing_ok=True)


@pytest.fixture(params=CULPRITS)
def kind(request, monkeypatch):
    monkeypatch.setattr(commands, "allennlp", write)
    line = f"{request.param} {{out}}"
    monkeypatch.setitem(commands.COMMANDS, request.param, Command(line, "out.txt"))
    return request.param


def test_kills_find_what_a_writer_does_wrong(kind, tmp_path):
    expected = run_uninterrupted(kind, tmp_path, tmp_path / "uninterrupted")
    verdicts = set()
    for event in range(1, expected.events + 2):
        place = tmp_path / str(event)
        case = Case(kind, tmp_path, place, event, signal.SIGKILL, expected)
        verdicts.add(_run(case).verdict)
        assert not place.exists()
    culprit = {
        "good": set(),
        "stale": {"wrong result"},
        "leaves": {"leftover"},
        "lost": {"half an output", "lost"},
    }[kind]
    assert verdicts == {"ok", "missed"} | culprit


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        (Ended(-signal.SIGKILL, "", hung=True, orphaned=False), "hang"),
        (Ended(1, "ValueError: half", hung=False, orphaned=False), "failed"),
        (Ended(-signal.SIGSEGV, "", hung=False, orphaned=False), "failed"),
        (Ended(0, "", hung=False, orphaned=False), "missed"),
    ],
)
def test_a_command_that_was_not_killed(ended, verdict, tmp_path):
    work = Work("embed", tmp_path, tmp_path / "out")
    assert _judge(work, None, ended)[0] == verdict


def test_the_moments_are_events_and_times(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "allennlp", write)
    monkeypatch.setitem(commands.COMMANDS, "good", Command("good {out}", "out.txt"))
    numbers = [signal.SIGINT, signal.SIGTERM]
    expected = run_uninterrupted("good", tmp_path, tmp_path / "good")
    cases = list(interruptions(tmp_path, tmp_path, {"good": expected}, 6, 1, numbers))
    assert [isinstance(case.moment, int) for case in cases] == [True, True, False] * 2
    assert [case.number for case in cases] == numbers * 3


def end_with(code, message):
    def end():
        print(message, file=sys.stderr)  # noqa: T201 (as a command does)
        sys.exit(code)

    return Child(end).end(60)


@pytest.mark.parametrize(
    ("code", "message", "verdict"),
    [
        (130, "embed: interrupted; the same command resumes", "ok"),
        (0, "", "missed"),
        (-signal.SIGINT, "", "missed"),
        (0, f"{MARK}open of …", "wrong exit code"),
        (-signal.SIGINT, f"{MARK}open of …", "wrong exit code"),
        (1, "embed: interrupted; the same command resumes", "wrong exit code"),
        (130, "Traceback … allennlp_semfit/commands/embed.py", "unclear message"),
        (130, "Traceback … allennlp/commands/__init__.py", "missed"),
        (1, "Traceback … allennlp_semfit/commands/embed.py, in add_subparser", "missed"),
    ],
)
def test_interrupted(code, message, verdict, tmp_path):
    work = Work("embed", tmp_path, tmp_path / "out")
    ended = Ended(code, message, hung=False, orphaned=False)
    assert _judge_interrupted(work, ended, signal.SIGINT, None)[0] == verdict


def test_what_an_interrupted_command_leaves(tmp_path):
    work = Work("embed", tmp_path, tmp_path / "out")
    ended = end_with(130, "embed: interrupted; the same command resumes")
    (work.place / "vectors.h5.unfinished").touch()
    assert _judge_interrupted(work, ended, signal.SIGINT, None)[0] == "ok"
    (work.place / ".partial-12345678").touch()
    assert _judge_interrupted(work, ended, signal.SIGINT, None) == ("leftover", ".partial-…")


def test_temporary_files_that_an_interrupted_command_leaves(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "allennlp", lambda *_: tempfile.mkdtemp())
    work = Work("embed", tmp_path, tmp_path / "out")
    assert work.run().code == 0
    ended = end_with(130, "embed: interrupted; the same command resumes")
    assert _judge_interrupted(work, ended, signal.SIGINT, None) == ("leftover", "temporary tmp…")
    work.remove()
    assert not list(tmp_path.iterdir())


def test_an_interrupted_command_may_have_completed_its_output(tmp_path, monkeypatch):
    monkeypatch.setitem(commands.COMMANDS, "embed", Command("embed {out}", "out.txt"))
    work = Work("embed", tmp_path, tmp_path / "place")
    ended = end_with(130, "embed: interrupted")
    work.out.write_text("whole")
    assert _judge_interrupted(work, ended, signal.SIGINT, work.digest())[0] == "ok"
    assert _judge_interrupted(work, ended, signal.SIGINT, None)[0] == "leftover"


def test_orphans_are_found_and_killed(monkeypatch):
    monkeypatch.setattr(child, "_GRACE_SECONDS", 0.2)

    def leave():
        if not os.fork():
            time.sleep(600)
        os._exit(0)

    ended = Child(leave).end(60)
    assert (ended.code, ended.orphaned) == (0, True)


def test_an_exception_kills_a_child():
    with pytest.raises(KeyboardInterrupt), Child(lambda: time.sleep(600)) as sleeper:
        raise KeyboardInterrupt
    assert not is_running(sleeper.pid)


def test_pairs(tmp_path, monkeypatch):
    monkeypatch.setitem(commands.COMMANDS, "embed", Command("embed {out}", "out", done="Nothing"))
    monkeypatch.setattr(commands, "allennlp", lambda name, out: Path(out).write_text("whole"))
    expected = run_uninterrupted("embed", tmp_path, tmp_path / "expected")
    work = Work("embed", tmp_path, tmp_path / "place")
    winner, run = end_with(0, ""), work.run()
    assert run.code == 0
    for loser, verdict in (
        (end_with(1, f"embed: {work.out}: another process is writing it"), "ok"),
        (end_with(0, "Nothing to do"), "ok"),
        (end_with(0, ""), "both wrote"),
        (end_with(1, "embed: File exists"), "unnamed error"),
        (end_with(1, f"Traceback\nembed: {work.out}"), "unnamed error"),
    ):
        assert _judge_pair(work, expected, [winner, loser])[0] == verdict
    work.out.write_text("half")
    assert _judge_pair(work, expected, [winner, winner])[0] == "wrong result"
