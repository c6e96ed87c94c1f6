"""
The `train-bpe` subcommand trains byte-level BPE, the subwords of a subword language model, on text
with one tokenized sentence per line.

    allennlp train-bpe corpus/train corpus/subwords --merges 30000
"""

import argparse
import json
import logging
import os

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import Command, add_corpus_argument, add_options, call
from allennlp_semfit.subwords.train import train_bpe

logger = logging.getLogger(__name__)


@Subcommand.register("train-bpe")
class TrainBpe(Command):
    """Registered as a "Subcommand" with name "train-bpe"."""

    help = "Train subwords (byte-level BPE)."
    description = """Train byte-level BPE on text with one tokenized sentence per line. Writes
        tokenizer.json, for the tokenizer "subword", and vocabulary, with the subwords in the
        namespace "subwords", to OUT_DIR. The same text always gives the same subwords."""

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_corpus_argument(subparser)
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="the output directory, created if missing"
        )
        add_options(
            subparser,
            train_bpe,
            merges="the maximum number of subwords besides the 256 bytes",
            min_frequency="how often a pair of subwords must occur to be merged",
            boundary_tokens={
                "type": str.split,
                "metavar": "TOKENS",
                "help": "the reader's start_tokens and end_tokens, each kept as one subword, in "
                "one argument, separated by spaces; '' for none",
            },
            num_workers="processes that count words and threads that train (default = number of "
            "CPUs)",
            force="replace tokenizer.json and vocabulary in OUT_DIR",
        )

    def run(self, args: argparse.Namespace) -> None:
        result = call(train_bpe, args)
        logger.info(
            f"{args.out_dir}: {result.num_words:,} words, {result.num_merges:,} merges, "
            f"{result.vocabulary_size:,} subwords in the vocabulary, "
            f"{result.subwords_per_word:.3f} subwords per word, {result.seconds:.1f} seconds."
        )
        tokenizer = {"type": "subword", "model_path": os.path.join(args.out_dir, "tokenizer.json")}
        vocabulary = {"type": "from_files", "directory": os.path.join(args.out_dir, "vocabulary")}
        logger.info(
            'Next: use "tokenizer": %s in the dataset_reader and "vocabulary": %s, as '
            "training_config/language_models/elmo_subword.jsonnet does",
            json.dumps(tokenizer),
            json.dumps(vocabulary),
        )
