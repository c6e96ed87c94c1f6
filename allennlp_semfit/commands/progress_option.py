"""The option of the commands that show their progress."""

import argparse
import sys

from allennlp.common import logging as common_logging

__all__ = ["add_progress_option", "apply_progress_option"]


def add_progress_option(subparser: argparse.ArgumentParser) -> None:
    """Adds `--file-friendly-logging`."""
    subparser.add_argument(
        "--file-friendly-logging",
        action="store_true",
        help="show progress in lines, now and then, as is done where there is no terminal",
    )


def apply_progress_option(args: argparse.Namespace) -> None:
    """Lets AllenNLP's `Tqdm` show progress as the option says."""
    common_logging.FILE_FRIENDLY_LOGGING = args.file_friendly_logging or not sys.stderr.isatty()
