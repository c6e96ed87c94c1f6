"""The command `allennlp train-fasttext`: fastText vectors, from text with one sentence a line."""

import argparse
import logging
import sys

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size

from allennlp_semfit.commands.options import add_progress_option, apply_progress_option
from allennlp_semfit.fasttext.train import MINIMUM_THREADS, train_fasttext

logger = logging.getLogger(__name__)


@Subcommand.register("train-fasttext")
class TrainFastText(Subcommand):
    """
    Trains the vectors that a Semfit language model reads and predicts. The defaults are fastText's
    own, but for the dimension.

    Registered as a "Subcommand" with name "train-fasttext".

    ```bash
    allennlp train-fasttext data/corpus/*.txt data/vectors.bin --dim 100
    ```
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Train fastText vectors on text with one tokenised sentence a line. The "
            "threads update the vectors without locks, so two runs differ slightly.",
            help="Train fastText vectors.",
        )
        subparser.add_argument(
            "corpus",
            nargs="+",
            metavar="CORPUS",
            help="text in UTF-8: files, directories (all files in them), or quoted globs",
        )
        subparser.add_argument(
            "out",
            metavar="OUT.bin",
            help="file for the vectors",
        )
        subparser.add_argument("--dim", type=int, default=300, help="dimension of the vectors")
        subparser.add_argument(
            "--model",
            choices=["skipgram", "cbow"],
            default="skipgram",
            help="predict the context from a word, or a word from its context",
        )
        subparser.add_argument(
            "--minn", type=int, default=3, help="characters of the shortest n-gram"
        )
        subparser.add_argument(
            "--maxn", type=int, default=6, help="characters of the longest n-gram; 0: no n-grams"
        )
        subparser.add_argument(
            "--bucket",
            type=int,
            default=2_000_000,
            help="rows that the n-grams share; the file takes 4 * DIM * BUCKET bytes and more",
        )
        subparser.add_argument(
            "--min-count", type=int, default=5, help="rarer words have no row of their own"
        )
        subparser.add_argument("--epoch", type=int, default=5, help="passes over the corpus")
        subparser.add_argument("--lr", type=float, default=0.05, help="learning rate at the start")
        subparser.add_argument("--ws", type=int, default=5, help="words of context on each side")
        subparser.add_argument("--neg", type=int, default=5, help="negative samples for each word")
        subparser.add_argument(
            "--threads",
            type=int,
            help="threads to train with, by default as many as there are cores; never fewer than "
            f"{MINIMUM_THREADS}, because with fewer fastText leaves vectors uninitialised",
        )
        subparser.add_argument("--force", action="store_true", help="replace OUT.bin if it exists")
        add_progress_option(subparser)
        subparser.set_defaults(func=train_fasttext_from_args)
        return subparser


def train_fasttext_from_args(args: argparse.Namespace) -> None:
    """
    Runs `train_fasttext` with the arguments of the command line.

    # Parameters

    args : `argparse.Namespace`

    # Raises

    `SystemExit`
        With the code 1 and one line for the user, if the vectors cannot be trained.
    """
    apply_progress_option(args)
    try:
        result = train_fasttext(
            args.corpus,
            args.out,
            model=args.model,
            dim=args.dim,
            minn=args.minn,
            maxn=args.maxn,
            bucket=args.bucket,
            min_count=args.min_count,
            epoch=args.epoch,
            lr=args.lr,
            ws=args.ws,
            neg=args.neg,
            threads=args.threads,
            force=args.force,
        )
    # OSError: a full disk, for example.
    except (ConfigurationError, OSError) as error:
        sys.exit(str(error))
    logger.info(
        "%s: %s words read, %s words in the dictionary, %d dimensions, %s, %.1f seconds.",
        args.out,
        f"{result.num_words:,}",
        f"{result.dictionary_size:,}",
        result.dim,
        format_size(result.file_size),
        result.seconds,
    )
    logger.info(
        "Next: allennlp train training_config/elmo_semfit.jsonnet "
        "--include-package allennlp_semfit -s OUT"
    )
