"""
The `train-bpe` subcommand trains byte-level BPE, the subwords of a subword language model, on text
with one tokenised sentence per line.

    allennlp train-bpe corpus/train corpus/subwords --merges 30000
"""

import argparse
import json
import logging
import os

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import (
    add_corpus_argument,
    add_progress_option,
    apply_progress_option,
    exit_on_error,
)
from allennlp_semfit.subwords.train import train_bpe

logger = logging.getLogger(__name__)


@Subcommand.register("train-bpe")
class TrainBpe(Subcommand):
    """Registered as a "Subcommand" with name "train-bpe"."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Train byte-level BPE on text with one tokenised sentence per line. Writes
            tokenizer.json, for the tokenizer "subword", and vocabulary, with the subwords in the
            namespace "subwords", to OUT_DIR. The same text always gives the same subwords."""
        subparser = parser.add_parser(
            self.name, description=description, help="Train subwords (byte-level BPE)."
        )
        add_corpus_argument(subparser)
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
            "--force", action="store_true", help="replace tokenizer.json and vocabulary in OUT_DIR"
        )
        add_progress_option(subparser)
        subparser.set_defaults(func=_run)
        return subparser


@exit_on_error("train-bpe")
def _run(args: argparse.Namespace) -> None:
    apply_progress_option(args)
    result = train_bpe(
        args.corpus,
        args.out_dir,
        merges=args.merges,
        min_frequency=args.min_frequency,
        boundary_tokens=args.boundary_tokens,
        num_workers=args.num_workers,
        force=args.force,
    )
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
        'Next: use "tokenizer": %s in the dataset_reader and "vocabulary": %s, as '
        "training_config/language_models/elmo_subword.jsonnet does",
        json.dumps({"type": "subword", "model_path": os.path.join(args.out_dir, "tokenizer.json")}),
        json.dumps({"type": "from_files", "directory": os.path.join(args.out_dir, "vocabulary")}),
    )
