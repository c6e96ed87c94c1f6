"""The subcommands that train word vectors."""

import argparse
import json
import logging
import math
import shlex
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common.util import format_size

from allennlp_semfit.commands.options import Command, add_parameters, call
from allennlp_semfit.common.text_files import TRAIN
from allennlp_semfit.fasttext.train import train_fasttext
from allennlp_semfit.static_vectors.svd import train_svd

logger = logging.getLogger(__name__)

# The values of training_config/elmo_semfit.jsonnet.
_WORDS_PER_EPOCH = 400_000
_BATCHES_PER_EPOCH = 500
# For more words than one epoch reads, nine epochs score higher; one pass may take more.
_NUM_EPOCHS, _MIN_EPOCHS = 3, 9
# With more epochs, validation would take most of the time, so the epochs are longer instead.
_MAX_EPOCHS = 50
# More words are streamed, in the order of the lines. In memory, a million words take 140 MB.
_WORDS_IN_MEMORY = 100_000_000


@Subcommand.register("train-fasttext")
class TrainFastText(Command):
    help = "Train fastText vectors."
    function = staticmethod(train_fasttext)
    arguments = {"out_file": {"metavar": "OUT.bin"}}

    def run(self, args: argparse.Namespace) -> None:
        result = call(train_fasttext, args)
        logger.info(
            f"{args.out_file}: {result.num_words:,} words read {result.epoch} times, "
            f"{result.dictionary_size:,} words in the dictionary, {args.dim} dimensions, "
            f"{format_size(result.file_size)}, {result.seconds:.1f} seconds."
        )
        out = Path(args.out_file)
        if (out.parent / TRAIN).is_dir() and out.name == "vectors.bin":
            corpus = json.dumps(str(out.parent), ensure_ascii=False)
            passes = math.ceil(result.num_words / _WORDS_PER_EPOCH)
            epochs = max(_MIN_EPOCHS, passes) if passes > 1 else _NUM_EPOCHS
            longer = math.ceil(epochs / _MAX_EPOCHS)
            loader = [f"batches_per_epoch: {_BATCHES_PER_EPOCH * longer}"] if longer > 1 else []
            shuffle = ""
            if result.num_words > _WORDS_IN_MEMORY:
                loader.append("max_instances_in_memory: 3200")
                train = shlex.quote(str(out.parent / TRAIN))
                shuffle = f'for file in {train}/*; do shuf "$file" -o "$file"; done && '
            more = f"data_loader+: {{ {', '.join(loader)} }}, " if loader else ""
            config = (
                f'(import "training_config/elmo_semfit.jsonnet") + {{ corpus:: {corpus}, '
                f"embedding_dim:: {args.dim}, {more}"
                f"trainer+: {{ num_epochs: {math.ceil(epochs / longer)} }} }}"
            )
            logger.info(
                f"Next: {shuffle}echo {shlex.quote(config)} > mine.jsonnet && "
                "allennlp train mine.jsonnet --include-package allennlp_semfit -s output/mine"
            )


@Subcommand.register("train-svd")
class TrainSvd(Command):
    help = "Train word vectors by SVD."
    function = staticmethod(train_svd)

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        group = subparser.add_mutually_exclusive_group()
        add_parameters(group, train_svd, "matrix", "pca_of", pca_of={"metavar": "VECTORS.bin"})
        add_parameters(subparser, train_svd, out_file={"metavar": "OUT.txt"})

    def run(self, args: argparse.Namespace) -> None:
        result = call(train_svd, args)
        logger.info(
            "%s: %s words in the corpus, %s vectors%s, %d dimensions with %.1f%% of the %s, "
            "%.1f seconds.",
            args.out_file,
            f"{result.num_words:,}",
            f"{result.table_size:,}",
            "" if result.num_nonzeros is None else f", {result.num_nonzeros:,} nonzeros",
            args.dim,
            100 * result.explained_share,
            # PCA centers the matrix first, the SVD does not.
            "variance" if args.pca_of else "matrix's squared Frobenius norm",
            result.seconds,
        )
        logger.info(
            "Next: give %s as the `pretrained_file` of the head's `target_embedder`, and %s as the "
            "`directory` of the vocabulary, as in "
            "training_config/language_models/elmo_semfit_svd.jsonnet",
            args.out_file,
            args.vocabulary_dir or "the directory of --vocabulary-dir",
        )
