"""
The `train-fasttext` subcommand trains the vectors that a Semfit language model reads and predicts.

    allennlp train-fasttext corpus/train corpus/vectors.bin --dim 100
"""

import argparse
import logging
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common.util import format_size

from allennlp_semfit.commands.options import Command, add_corpus_argument, add_options, call
from allennlp_semfit.common.text_files import TRAIN
from allennlp_semfit.fasttext.train import MINIMUM_THREADS, train_fasttext

logger = logging.getLogger(__name__)


@Subcommand.register("train-fasttext")
class TrainFastText(Command):
    """Registered as a "Subcommand" with name "train-fasttext"."""

    help = "Train fastText vectors."
    description = """Train fastText vectors on text with one tokenized sentence per line. The
        defaults are fastText's, except for --dim, --bucket and --epoch. The threads update the
        vectors without locks, so two runs differ slightly."""

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_corpus_argument(subparser)
        subparser.add_argument("out_path", metavar="OUT.bin", help="the output file")
        add_options(
            subparser,
            train_fasttext,
            dim="dimension of the vectors",
            model={
                "choices": ["skipgram", "cbow"],
                "help": "predict the context from a word, or a word from its context",
            },
            minn="length of the shortest n-gram",
            maxn="length of the longest n-gram; 0 for no n-grams",
            bucket="rows shared by the n-grams; the file takes more than 4 * DIM * BUCKET bytes "
            "(default = the number of different n-grams in the text, at most 2,000,000)",
            min_count="rarer words have no vector of their own",
            epoch="passes over the corpus (default = as many as read four million words, from 5 "
            "to 50)",
            lr="initial learning rate",
            ws="words of context on each side",
            neg="negative samples per word",
            threads="training threads (default = number of CPUs), but at least "
            f"{MINIMUM_THREADS}: with fewer, fastText leaves vectors uninitialized",
            force="replace OUT.bin if it exists",
        )

    def run(self, args: argparse.Namespace) -> None:
        result = call(train_fasttext, args)
        logger.info(
            f"{args.out_path}: {result.num_words:,} words read {result.epoch} times, "
            f"{result.dictionary_size:,} words in the dictionary, {result.dim} dimensions, "
            f"{format_size(result.file_size)}, {result.seconds:.1f} seconds."
        )
        out = Path(args.out_path)
        if (out.parent / TRAIN).is_dir() and out.name == "vectors.bin":
            logger.info(
                f"Next: echo \"(import 'training_config/elmo_semfit.jsonnet') + {{ corpus:: "
                f"'{out.parent}', embedding_dim:: {result.dim} }}\" > mine.jsonnet && "
                "allennlp train mine.jsonnet --include-package allennlp_semfit -s output/mine"
            )
