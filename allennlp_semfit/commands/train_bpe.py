"""
The `train-bpe` subcommand learns the subwords that a subword language model reads and
predicts, from text with one sentence a line.

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
        description = """Learn the subwords, byte-level BPE, from text with one tokenised
            sentence a line. OUT_DIR gets tokenizer.json, for the tokenizer "subword", and
            vocabulary, with the subwords in the namespace "subwords". The same text gives the same
            subwords."""
        subparser = parser.add_parser(
            self.name, description=description, help="Learn the subwords (BPE)."
        )
        subparser.add_argument(
            "corpus",
            nargs="+",
            metavar="CORPUS",
            help="text in UTF-8: files, directories (all files in them), or quoted globs",
        )
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="where the results go; it may be missing"
        )
        subparser.add_argument(
            "--merges",
            type=int,
            default=30_000,
            help="how many subwords to make besides the 256 that are bytes",
        )
        subparser.add_argument(
            "--min-frequency",
            type=int,
            default=2,
            help="how often a pair of subwords must occur to become one subword",
        )
        subparser.add_argument(
            "--boundary-tokens",
            type=str.split,
            default=("</s>",),
            metavar="TOKENS",
            help="the reader's start_tokens and end_tokens, each a subword of its own, in one "
            "argument with spaces between them, '' for none; by default the reader's default, </s>",
        )
        subparser.add_argument(
            "--num-workers",
            type=int,
            help="processes that count words, and threads that merge (default = one for each CPU)",
        )
        subparser.add_argument(
            "--force",
            action="store_true",
            help="replace tokenizer.json and vocabulary if they are in OUT_DIR",
        )
        add_progress_option(subparser)
        subparser.set_defaults(func=train_bpe_from_args)
        return subparser


def train_bpe_from_args(args: argparse.Namespace) -> None:
    """
    Runs `train_bpe` with the arguments of the command line.

    # Parameters

    args : `argparse.Namespace`

    # Raises

    `SystemExit`
        With the code 1 and one line for the user, when the subwords cannot be made.
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
    # A full disk is the user's to mend as well.
    except (ConfigurationError, OSError) as error:
        sys.exit(f"train-bpe: {error}")
    except KeyboardInterrupt:
        sys.exit("train-bpe: interrupted; nothing was written")
    logger.info(
        "%s: %s words read, %s merges, %s subwords in the vocabulary, %.3f subwords a word, "
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
