"""
The `train-mimick` subcommand trains a model that predicts the vectors of a table from the spelling
of the words, for the words that a table of GloVe's or word2vec's lacks.

    allennlp train-mimick glove.6B.100d.txt data/mimick
"""

import argparse
import json
import logging
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import Command, call
from allennlp_semfit.mimick.train import train_mimick

logger = logging.getLogger(__name__)


@Subcommand.register("train-mimick")
class TrainMimick(Command):
    """Registered as a "Subcommand" with name "train-mimick"."""

    help = "Train vectors of words from their spelling."
    description = """Train a model that predicts the vectors of a table from the spelling of the
        words (MIMICK), for the words that the table lacks. Writes AllenNLP's serialization
        directory, with the archive model.tar.gz."""
    interrupted = "--recover resumes after the last full epoch"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        subparser.add_argument(
            "table",
            metavar="TABLE",
            help="word vectors in GloVe's or word2vec's text format, plain or compressed, or a "
            "file in an archive: '(glove.6B.zip)#glove.6B.100d.txt'",
        )
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="the output directory, created if missing"
        )
        subparser.add_argument(
            "--held-out",
            type=float,
            default=0.1,
            help="the proportion of words to evaluate on, drawn at random",
        )
        subparser.add_argument("--epochs", type=int, default=20, help="passes over the words")
        subparser.add_argument(
            "--char-dim", type=int, default=20, help="dimension of the characters' vectors"
        )
        subparser.add_argument(
            "--hidden-dim",
            type=int,
            default=50,
            help="dimension of the LSTM's states in each direction",
        )
        subparser.add_argument(
            "--max-words",
            type=int,
            default=100_000,
            help="how many words to read from the beginning of the table",
        )
        subparser.add_argument("--seed", type=int, default=13, help="the random seed")
        subparser.add_argument(
            "--recover",
            action="store_true",
            help="resume an interrupted training with the same options",
        )
        subparser.add_argument(
            "--force", action="store_true", help="delete an earlier training in OUT_DIR"
        )

    def run(self, args: argparse.Namespace) -> None:
        result = call(train_mimick, args)
        logger.info(
            "%s: trained on %s words; on %s other words, the mean cosine of predictions and "
            "vectors is %.3f (of the best constant direction: %.3f), %.1f seconds.",
            args.out_dir,
            f"{result.num_words - result.num_held_out:,}",
            f"{result.num_held_out:,}",
            result.cosine,
            result.baseline_cosine,
            result.seconds,
        )
        indexer = {
            "type": "mimick",
            "archive_file": str(Path(args.out_dir) / "model.tar.gz"),
            "table_path": args.table,
        }
        logger.info(
            'Next: use the indexer "mimick": %s and the embedder "mimick": %s, as '
            "training_config/language_models/elmo_semfit_mimick.jsonnet does",
            json.dumps(indexer),
            json.dumps({"type": "mimick", "embedding_dim": result.dim}),
        )
