"""Commands, called in this process with the arguments of a command line."""

import argparse
from typing import Any

import pytest
from allennlp.commands import Subcommand


def run(command: str, *args: Any) -> None:
    parser = argparse.ArgumentParser()
    Subcommand.by_name(command)().add_subparser(parser.add_subparsers())
    arguments = parser.parse_args([command, *map(str, args)])
    arguments.func(arguments)


def error_of(command: str, *args: Any) -> str:
    """The one line with which it ends."""
    with pytest.raises(SystemExit) as ended:
        run(command, *args)
    line = str(ended.value.code)
    assert line.startswith(f"{command}: ")
    assert "\n" not in line
    return line
