import argparse
import logging
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common.util import format_size

from allennlp_semfit.commands.options import (
    Command,
    add_language_model_options,
    add_layers_options,
    add_parameters,
    call,
    load_language_model,
)
from allennlp_semfit.export.embed_file import SentencesFile, check_vectors_path, embed_file
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder

logger = logging.getLogger(__name__)


@Subcommand.register("embed")
class Embed(Command):
    help = "Write the vectors of sentences to a file."
    function = staticmethod(embed_file)
    interrupted = "the same command resumes"
    out_of_memory = "use a lower --batch-size"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_parameters(subparser, SentenceEmbedder, "archive_file")
        add_parameters(subparser, embed_file, "sentences_file", "out_file")
        add_layers_options(subparser, default="all")
        names = ("pool", "dtype", "forget_sentences", "force")
        add_parameters(subparser, embed_file, *names)
        add_language_model_options(subparser)

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
            f"{format_size(summary.file_size)}, {summary.words_per_second:,.0f} words/s"
        )
