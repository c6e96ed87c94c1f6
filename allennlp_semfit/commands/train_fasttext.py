"""
The `train-fasttext` subcommand trains the vectors that a Semfit language model reads and predicts.

    allennlp train-fasttext corpus/train corpus/vectors.bin --dim 100
"""

import argparse
import logging

from allennlp.commands.subcommand import Subcommand
from allennlp.common.util import format_size

from allennlp_semfit.commands.options import (
    add_corpus_argument,
    add_progress_option,
    apply_progress_option,
    exit_on_error,
)
from allennlp_semfit.fasttext.train import MINIMUM_THREADS, train_fasttext

logger = logging.getLogger(__name__)


@Subcommand.register("train-fasttext")
class TrainFastText(Subcommand):
    """Registered as a "Subcommand" with name "train-fasttext"."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Train fastText vectors on text with one tokenised sentence per line. The "
            "defaults are fastText's, except for --dim and --bucket. The threads update the "
            "vectors without locks, so two runs differ slightly.",
            help="Train fastText vectors.",
        )
        add_corpus_argument(subparser)
        subparser.add_argument("out", metavar="OUT.bin", help="the output file")
        subparser.add_argument("--dim", type=int, default=300, help="dimension of the vectors")
        subparser.add_argument(
            "--model",
            choices=["skipgram", "cbow"],
            default="skipgram",
            help="predict the context from a word, or a word from its context",
        )
        subparser.add_argument("--minn", type=int, default=3, help="length of the shortest n-gram")
        subparser.add_argument(
            "--maxn", type=int, default=6, help="length of the longest n-gram; 0 for no n-grams"
        )
        subparser.add_argument(
            "--bucket",
            type=int,
            help="rows shared by the n-grams; the file takes more than 4 * DIM * BUCKET bytes "
            "(default = the number of different n-grams in the text, at most 2,000,000)",
        )
        subparser.add_argument(
            "--min-count", type=int, default=5, help="rarer words have no vector of their own"
        )
        subparser.add_argument("--epoch", type=int, default=5, help="passes over the corpus")
        subparser.add_argument("--lr", type=float, default=0.05, help="initial learning rate")
        subparser.add_argument("--ws", type=int, default=5, help="words of context on each side")
        subparser.add_argument("--neg", type=int, default=5, help="negative samples per word")
        subparser.add_argument(
            "--threads",
            type=int,
            help="training threads (default = number of CPUs), but at least "
            f"{MINIMUM_THREADS}: with fewer, fastText leaves vectors uninitialised",
        )
        subparser.add_argument("--force", action="store_true", help="replace OUT.bin if it exists")
        add_progress_option(subparser)
        subparser.set_defaults(func=_run)
        return subparser


@exit_on_error("train-fasttext")
def _run(args: argparse.Namespace) -> None:
    apply_progress_option(args)
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
        "Next: in a copy of training_config/elmo_semfit.jsonnet, set model_path = %r and "
        "embedding_dim = %d; then allennlp train COPY --include-package allennlp_semfit -s OUT",
        args.out,
        result.dim,
    )
