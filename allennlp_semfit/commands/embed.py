"""
The `embed` subcommand writes a language model's vectors for the words of tokenised sentences to an
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
    add_language_model_options,
    add_layers_options,
    add_progress_option,
    apply_progress_option,
    exit_on_error,
    load_language_model,
)
from allennlp_semfit.pretrained.embed_file import embed_file
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from allennlp_semfit.pretrained.vectors_file import check_vectors_path

logger = logging.getLogger(__name__)


@Subcommand.register("embed")
class Embed(Subcommand):
    """Registered as a "Subcommand" with name "embed"."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Write a language model's vectors for the words of sentences to an HDF5
            file: one dataset per line, named by the line's index from 0, and
            "sentence_to_index", JSON that maps each sentence to its dataset. The dataset of an
            empty line has length 0. With --pool, write one vector per line: the dataset "vectors"
            of an .h5 file, or an .npy file, of shape (lines, dim). The same command resumes an
            interrupted run. Until it is complete, the vectors are in OUT.unfinished; copying them
            takes twice the space."""
        subparser = parser.add_parser(
            self.name, description=description, help="Write the vectors of sentences to a file."
        )
        subparser.add_argument(
            "archive", metavar="ARCHIVE", help="the model.tar.gz of a language model"
        )
        subparser.add_argument(
            "sentences", metavar="SENTENCES", help="UTF-8 text, one tokenised sentence per line"
        )
        subparser.add_argument("out", metavar="OUT", help="the output file, such as vectors.h5")
        add_layers_options(
            subparser,
            default="all",
            all="all layers: each dataset has the shape (layers, words, dim)",
            top="the last layer: the shape (words, dim)",
            average="the mean of the layers: the shape (words, dim)",
            normalized="the mean of the layers after layer normalisation of each",
        )
        subparser.add_argument(
            "--pool",
            choices=["mean", "max", "first"],
            help="write one vector per sentence: the mean or the maximum of the vectors of its "
            "words, or that of its first word; zeros for an empty line. With --all, it has the "
            "layers side by side",
        )
        subparser.add_argument(
            "--dtype",
            choices=["float32", "float16"],
            default="float32",
            help="the type of the vectors' elements; float16 takes half the space",
        )
        add_language_model_options(subparser)
        subparser.add_argument(
            "--forget-sentences",
            action="store_true",
            help='omit "sentence_to_index", which needs all sentences in memory',
        )
        subparser.add_argument(
            "--force",
            action="store_true",
            help="replace an existing OUT once the new one is complete",
        )
        add_progress_option(subparser)
        subparser.set_defaults(func=_run)
        return subparser


@exit_on_error(
    "embed", interrupted="the same command resumes", out_of_memory="use a lower --batch-size"
)
def _run(args: argparse.Namespace) -> None:
    apply_progress_option(args)
    # Both are checked before the model, which takes a while to load.
    check_vectors_path(Path(args.out), args.pool, [args.archive, args.sentences])
    SentencesFile(Path(args.sentences))
    summary = embed_file(
        load_language_model(args),
        args.sentences,
        args.out,
        layers=args.layers,
        pool=args.pool,
        dtype=args.dtype,
        batch_size=args.batch_size,
        forget_sentences=args.forget_sentences,
        force=args.force,
    )
    if summary.already_done:
        logger.info("Nothing to do: %s already has these vectors.", args.out)
    logger.info(
        "%s: %s sentences, %s words, %s%s",
        args.out,
        f"{summary.num_sentences:,}",
        f"{summary.num_words:,}",
        format_size(summary.file_size),
        f", {summary.words_per_second:,.0f} words a second" if summary.words_per_second else "",
    )
