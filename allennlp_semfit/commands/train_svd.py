"""
The `train-svd` subcommand makes a table of word vectors from text with one tokenized sentence per
line, by singular value decomposition: targets, and input, of a language model.

    allennlp train-svd corpus/train svd.txt --vocabulary-dir svd_vocabulary
    allennlp train-svd corpus/train svd.txt --matrix conditional --dim 100
    allennlp train-svd corpus/train pca.txt --pca-of vectors.bin --dim 100
"""

import argparse
import json
import logging

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import Command, add_corpus_argument, add_options, call
from allennlp_semfit.static_vectors.svd import train_svd

logger = logging.getLogger(__name__)


@Subcommand.register("train-svd")
class TrainSvd(Command):
    """Registered as a "Subcommand" with name "train-svd"."""

    help = "Train word vectors by SVD."
    description = """Write a table of word vectors in word2vec's text format, by singular value
        decomposition of a matrix of words and their contexts in text with one tokenized
        sentence per line. Its first row is @@UNKNOWN@@, counted wherever a word without a row
        occurs; then come the words, the most frequent first. The boundary token </s> is counted
        at both ends of each line. The same text always gives the same table."""

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_corpus_argument(subparser)
        subparser.add_argument(
            "out_path", metavar="OUT.txt", help="the table; the name ends in .txt or .vec"
        )
        add_options(
            subparser.add_mutually_exclusive_group(),
            train_svd,
            matrix={
                "choices": ["ppmi", "conditional"],
                "help": "the positive pointwise mutual information of words, or the probability of "
                "each word given the previous word and given the next one",
            },
            pca_of={
                "metavar": "VECTORS.bin",
                "help": "instead, the principal components of a fastText model's vectors",
            },
        )
        add_options(
            subparser,
            train_svd,
            dim="the vectors' dimension",
            window="context words on each side (default = 2 for ppmi, 1 for conditional)",
            shift={
                "metavar": "K",
                "help": "subtract the logarithm of this from the PMI (default = 1: subtract "
                "nothing)",
            },
            context_smoothing={
                "metavar": "POWER",
                "help": "raise the contexts' counts to this power in the PMI (default = 0.75)",
            },
            alpha="the power of the singular values by which the dimensions are multiplied "
            "(default = 0.5)",
            min_count="count words with fewer occurrences as @@UNKNOWN@@",
            max_size="keep at most this many words, the most frequent, including </s> but not "
            "@@UNKNOWN@@",
            vocabulary_dir={
                "metavar": "DIR",
                "help": "write the table's words as AllenNLP's vocabulary to this directory",
            },
            num_workers="processes that count (default = number of CPUs)",
            force="replace OUT.txt and the vocabulary",
        )

    def run(self, args: argparse.Namespace) -> None:
        result = call(train_svd, args)
        logger.info(
            "%s: %s words in the corpus, %s vectors%s, %d dimensions with %.1f%% of the %s, "
            "%.1f seconds.",
            args.out_path,
            f"{result.num_words:,}",
            f"{result.table_size:,}",
            "" if result.num_nonzeros is None else f", {result.num_nonzeros:,} nonzeros",
            args.dim,
            100 * result.explained_share,
            # Only the principal components are those of a centred matrix.
            "variance" if args.pca_of else "matrix's squared Frobenius norm",
            result.seconds,
        )
        head = {
            "target_embedder": {
                "type": "embedding",
                "embedding_dim": args.dim,
                "pretrained_file": args.out_path,
                "trainable": False,
            },
            "target_indexer": "tokens",
        }
        vocabulary = {"type": "from_files", "directory": args.vocabulary_dir or "DIR"}
        logger.info(
            'Next: %s in the head and "vocabulary": %s%s, as in '
            "training_config/language_models/elmo_semfit_svd.jsonnet",
            json.dumps(head, ensure_ascii=False)[1:-1],
            json.dumps(vocabulary, ensure_ascii=False),
            "" if args.vocabulary_dir else " with the DIR of --vocabulary-dir",
        )
