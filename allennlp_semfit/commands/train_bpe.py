"""
The `train-bpe` subcommand trains byte-level BPE, the subwords of a subword language model, on text
with one tokenised sentence a line.

    allennlp train-bpe corpus/train corpus/subwords --merges 30000
"""

import argparse
import logging
import shlex
import sys

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.commands.options import add_progress_option, apply_progress_option
from allennlp_semfit.subwords.train import train_bpe

logger = logging.getLogger(__name__)


@Subcommand.register("train-bpe")
class TrainBpe(Subcommand):
    """
    Registered as a "Subcommand" with name "train-bpe".
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Train byte-level BPE on text with one tokenised sentence a line. Writes
            tokenizer.json, for the tokenizer "subword", and vocabulary, with the subwords in the
            namespace "subwords", to OUT_DIR. The same text always gives the same subwords."""
        subparser = parser.add_parser(
            self.name, description=description, help="Train subwords (byte-level BPE)."
        )
        subparser.add_argument(
            "corpus",
            nargs="+",
            metavar="CORPUS",
            help="UTF-8 text: files, directories (all files in them), or quoted globs",
        )
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="the output directory, created if missing"
        )
        subparser.add_argument(
            "--merges",
            type=int,
            default=30_000,
            help="the maximum number of subwords besides the 256 bytes",
        )
        subparser.add_argument(
            "--min-frequency",
            type=int,
            default=2,
            help="how often a pair of subwords must occur to be merged",
        )
        subparser.add_argument(
            "--boundary-tokens",
            type=str.split,
            default=("</s>",),
            metavar="TOKENS",
            help="the reader's start_tokens and end_tokens, each kept as one subword, in one "
            "argument, separated by spaces; '' for none",
        )
        subparser.add_argument(
            "--num-workers",
            type=int,
            help="processes that count words and threads that train (default = number of CPUs)",
        )
        subparser.add_argument(
            "--force",
            action="store_true",
            help="replace tokenizer.json and vocabulary in OUT_DIR",
        )
        add_progress_option(subparser)
        subparser.set_defaults(func=train_bpe_from_args)
        return subparser


def train_bpe_from_args(args: argparse.Namespace) -> None:
    """
    Calls `train_bpe` with the command line's arguments.

    # Parameters

    args : `argparse.Namespace`

    # Raises

    `SystemExit`
        With exit code 1 and a message of one line, if the training fails.
    """
    apply_progress_option(args)
    try:
        result = train_bpe(
            args.corpus,
            args.out_dir,
            merges=args.merges,
            min_frequency=args.min_frequency,
            boundary_tokens=args.boundary_tokens,
            num_workers=args.num_workers,
            force=args.force,
        )
    # `OSError` for a full disk.
    except (ConfigurationError, OSError) as error:
        sys.exit(f"train-bpe: {error}")
    except KeyboardInterrupt:
        sys.exit("train-bpe: interrupted; nothing was written")
    logger.info(
        "%s: %s words, %s merges, %s subwords in the vocabulary, %.3f subwords per word, "
        "%.1f seconds.",
        args.out_dir,
        f"{result.num_words:,}",
        f"{result.num_merges:,}",
        f"{result.vocabulary_size:,}",
        result.subwords_per_word,
        result.seconds,
    )
    logger.info(
        "Next: SUBWORDS_PATH=%s allennlp train training_config/laptop/elmo_subword.jsonnet "
        "--include-package allennlp_semfit -s OUT",
        shlex.quote(args.out_dir.rstrip("/") or "/"),
    )
