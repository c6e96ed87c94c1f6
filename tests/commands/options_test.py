import argparse
import os
import re
import sys
from typing import List, Literal, Optional, Sequence, Union

import pytest
import torch
from allennlp.commands import ArgumentParserWithDefaults, Subcommand
from allennlp.common import util

from allennlp_semfit.commands.embed import Embed
from allennlp_semfit.commands.options import add_parameters, call, exit_on_error
from tests.processes import fork


def test_each_command_has_a_description_and_each_argument_a_help_text():
    for command, _ in Subcommand._registry[Subcommand].values():
        if not command.__module__.startswith("allennlp_semfit."):
            continue
        subparser = command().add_subparser(argparse.ArgumentParser().add_subparsers())
        assert subparser.description.endswith(".")
        assert all(action.help for action in subparser._actions)


def function(
    corpus: Sequence[Union[str, os.PathLike]],
    out_file: str,
    *,
    mode: Literal["first", "avg"] = "first",
    fraction: Optional[float] = None,
    tokens: Optional[List[str]] = None,
    force: bool = False,
    options: Optional[dict] = None,
):
    """
    An example.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        UTF-8 text.
    out_file : `str`
        The output, as in [a paper](https://example.org).
    mode : `Literal["first", "avg"]`, optional (default = `"first"`)
        Or `"avg"`.

        More for readers of the code.
    fraction : `float`, optional (default = `None`)
        At most 5% of
        `corpus`. See `mode`.
    tokens : `List[str]`, optional (default = `None`)
        The tokens.
    force : `bool`, optional (default = `False`)
        Whether to replace `out_file`.

    # Returns

    other : `str`
    """
    return corpus, out_file, mode, fraction, tokens, force, options


def test_the_arguments_are_the_parameters():
    parser = ArgumentParserWithDefaults(prog="command")
    names = ("corpus", "out_file", "mode", "fraction")
    add_parameters(parser, function, *names, fraction={"metavar": "SHARE"})
    add_parameters(parser, function, "tokens", "force")
    assert call(function, parser.parse_args(["in", "out"])) == (
        *(["in"], "out", "first", None, None, False, None),
    )
    arguments = "in more out --mode avg --fraction .1 --force --tokens a b"
    assert call(function, parser.parse_args(arguments.split()), options={}) == (
        *(["in", "more"], "out", "avg", 0.1, ["a", "b"], True, {}),
    )
    with pytest.raises(SystemExit):
        parser.parse_args(["in", "out", "--mode", "last"])


@pytest.mark.parametrize(
    ("interrupt", "code"), [(KeyboardInterrupt, 130), (util.SigTermReceived, 143)]
)
def test_an_interruption_is_one_line(interrupt, code, capsys):
    with pytest.raises(SystemExit) as ended, exit_on_error(Embed()):
        raise interrupt
    assert ended.value.code == code
    assert capsys.readouterr().err == "embed: interrupted; the same command resumes\n"


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
