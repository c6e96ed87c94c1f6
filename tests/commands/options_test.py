import argparse
import io
import os
import re
import sys

import pytest
import torch
from allennlp.commands import Subcommand
from allennlp.common import util

from allennlp_semfit.commands.export import Embed
from allennlp_semfit.commands.options import exit_on_error
from tests.commands import running
from tests.processes import fork


def test_each_command_has_a_description_and_each_argument_a_help_text():
    for command, _ in Subcommand._registry[Subcommand].values():
        if not command.__module__.startswith("allennlp_semfit."):
            continue
        subparser = command().add_subparser(argparse.ArgumentParser().add_subparsers())
        assert subparser.description.endswith(".")
        assert all(action.help for action in subparser._actions)
        # For a terminal of any encoding.
        assert subparser.format_help().isascii()


@pytest.mark.parametrize(
    ("interrupt", "code"), [(KeyboardInterrupt, 130), (util.SigTermReceived, 143)]
)
def test_an_interruption_is_one_line(interrupt, code, capsys):
    with pytest.raises(SystemExit) as ended, exit_on_error(Embed()):
        raise interrupt
    assert ended.value.code == code
    assert capsys.readouterr().err == "embed: interrupted; the same command resumes\n"


def test_what_is_printed_is_utf8_whatever_the_locale(tmp_path, monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, "ascii"))
    # The last byte is Latin-1.
    name = "ọ̀rẹ́".encode() + b"\xe9"
    directory = tmp_path / os.fsdecode(name)
    directory.mkdir()
    (directory / "metrics_epoch_0.json").write_text('{"epoch": 0, "validation_perplexity": 20.0}')
    (directory / "model.tar.gz").touch()
    running.run("show-training", directory)
    assert name in printed.getvalue()


def test_a_lack_of_memory_is_one_line():
    for allocate in (lambda: bytes(1 << 62), lambda: torch.empty(1 << 60)):
        with pytest.raises(SystemExit) as ended, exit_on_error(Embed()):
            allocate()
        assert re.fullmatch(
            r"embed: not enough memory \(.+\); use a lower --batch-size", ended.value.code
        )
    with pytest.raises(RuntimeError, match="illegal"), exit_on_error(Embed()):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


def test_a_reader_that_ends_early_is_no_error(tmp_path):
    """As `head` in `allennlp nearest-words … | head`."""
    reader, writer = os.pipe()
    log = tmp_path / "log"

    def write():
        os.dup2(writer, 1)
        sys.stderr = log.open("w", buffering=1)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        try:
            with exit_on_error(Embed()):
                sys.stdout.write("text")
        finally:
            # As Python does at the exit.
            sys.stdout.flush()

    os.close(reader)
    process = fork(write)
    process.join()
    os.close(writer)
    assert process.exitcode == 1
    assert log.read_text() == ""
