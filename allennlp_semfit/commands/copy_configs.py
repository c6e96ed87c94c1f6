"""
The `copy-configs` subcommand copies the package's configs, for use without a clone of the
repository.

    allennlp copy-configs
    allennlp train training_config/elmo_semfit.jsonnet --include-package allennlp_semfit -s output
"""

import argparse
import shutil
import sys
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

_PACKAGE = Path(__file__).parents[1]
_NAME = "training_config"


@Subcommand.register("copy-configs")
class CopyConfigs(Subcommand):
    """
    Registered as a "Subcommand" with name "copy-configs".
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Copy the configs that come with allennlp_semfit, and the functions that a
            config of your own imports, such as training_config/lib/elmo_semfit.libsonnet. A clone
            of the repository has them already."""
        subparser = parser.add_parser(
            self.name, description=description, help="Copy the configs of allennlp_semfit."
        )
        subparser.add_argument(
            "out_dir",
            metavar="OUT_DIR",
            nargs="?",
            default=_NAME,
            help="the directory to make",
        )
        subparser.set_defaults(func=copy_configs_from_args)
        return subparser


def copy_configs_from_args(args: argparse.Namespace) -> None:
    """
    # Parameters

    args : `argparse.Namespace`

    # Raises

    `SystemExit`
        With the code 1 and one line for the user, when the directory exists or cannot be made.
    """
    installed = _PACKAGE / _NAME
    # A package that runs from its repository has them beside it.
    source = installed if installed.is_dir() else _PACKAGE.parent / _NAME
    try:
        shutil.copytree(source, args.out_dir)
    except FileExistsError:
        sys.exit(f"copy-configs: {args.out_dir} exists; give the name of another directory")
    except OSError as error:
        sys.exit(f"copy-configs: {error}")
