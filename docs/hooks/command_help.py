"""
Prints what `--help` shows for each command of the package, as JSON by name. The site's hook calls
it with the Python that has AllenNLP.
"""

import json
import os
import sys
from typing import Dict

from allennlp.commands import ArgumentParserWithDefaults
from allennlp.commands.subcommand import Subcommand

import allennlp_semfit  # noqa: F401 (registers the commands)


def command_help() -> Dict[str, str]:
    """
    # Returns

    `Dict[str, str]`
        The help by the name of the command.
    """
    # The width of a page of the site.
    os.environ["COLUMNS"] = "80"
    subparsers = ArgumentParserWithDefaults(prog="allennlp").add_subparsers()
    names = [
        name
        for name in Subcommand.list_available()
        if Subcommand.by_name(name).__module__.startswith("allennlp_semfit.")
    ]
    return {
        name: Subcommand.by_name(name)().add_subparser(subparsers).format_help() for name in names
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(command_help()))
