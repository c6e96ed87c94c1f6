"""
The `embed` subcommand writes a language model's vectors for the words of tokenized sentences to an
HDF5 file, as AllenNLP's `elmo` subcommand did, or one vector for each sentence.

    allennlp embed output/elmo_semfit/model.tar.gz sentences.txt vectors.h5
    allennlp embed output/elmo_semfit/model.tar.gz sentences.txt vectors.h5 --top --dtype float16
    allennlp embed output/elmo_semfit/model.tar.gz sentences.txt vectors.npy --pool mean --average
"""

import argparse
import logging
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common.util import format_size

from allennlp_semfit.commands.options import (
    Command,
    add_archive_argument,
    add_language_model_options,
    add_layers_options,
    add_options,
    call,
    load_language_model,
)
from allennlp_semfit.export.embed_file import embed_file
from allennlp_semfit.export.sentences_file import SentencesFile
from allennlp_semfit.export.vectors_file import check_vectors_path

logger = logging.getLogger(__name__)


@Subcommand.register("embed")
class Embed(Command):
    """Registered as a "Subcommand" with name "embed"."""

    help = "Write the vectors of sentences to a file."
    description = """Write a language model's vectors for the words of sentences to an HDF5
        file: one dataset per line, named by the line's index from 0, and
        "sentence_to_index", JSON that maps each sentence to its dataset. The dataset of an
        empty line has length 0. With --pool, write one vector per line: the dataset "vectors"
        of an .h5 file, or an .npy file, of shape (lines, dim). The same command resumes an
        interrupted run. Until it is complete, the vectors are in the directory OUT.unfinished;
        copying them takes twice the space."""
    interrupted = "the same command resumes"
    out_of_memory = "use a lower --batch-size"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_archive_argument(subparser)
        subparser.add_argument(
            "sentences_file",
            metavar="SENTENCES",
            help="UTF-8 text, one tokenized sentence per line",
        )
        subparser.add_argument(
            "out_file", metavar="OUT", help="the output file, such as vectors.h5"
        )
        add_layers_options(
            subparser,
            default="all",
            all="all layers: each dataset has the shape (layers, words, dim)",
            top="the last layer: the shape (words, dim)",
            average="the mean of the layers: the shape (words, dim)",
            normalized="the mean of the layers after layer normalization of each",
        )
        add_options(
            subparser,
            embed_file,
            pool={
                "choices": ["mean", "max", "first"],
                "help": "write one vector per sentence: the mean or the maximum of the vectors of "
                "its words, or that of its first word; zeros for an empty line. With --all, it has "
                "the layers side by side",
            },
            dtype={
                "choices": ["float32", "float16"],
                "help": "the type of the vectors' elements; float16 takes half the space",
            },
        )
        add_language_model_options(subparser)
        add_options(
            subparser,
            embed_file,
            forget_sentences='omit "sentence_to_index", which needs all sentences in memory',
            force="replace an existing OUT once the new one is complete",
        )

    def run(self, args: argparse.Namespace) -> None:
        # Both are checked before the model, which takes a while to load.
        check_vectors_path(
            Path(args.out_file),
            args.pool,
            [args.archive_file, args.sentences_file],
            force=args.force,
        )
        SentencesFile(Path(args.sentences_file))
        summary = call(embed_file, args, embedder=load_language_model(args))
        logger.info(
            f"{args.out_file}: {summary.num_sentences:,} sentences, {summary.num_words:,} words, "
            f"{format_size(summary.file_size)}, {summary.words_per_second:,.0f} words a second"
        )
