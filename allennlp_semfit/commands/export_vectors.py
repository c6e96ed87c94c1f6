"""
The `export-vectors` subcommand writes static vectors of words, from a language model, as a table
that gensim and AllenNLP read.

    allennlp export-vectors output/elmo_semfit/model.tar.gz vectors.txt --words words.txt
    allennlp export-vectors … --words words.txt --contexts sentences.txt --top
"""

import argparse
import logging
import unicodedata
from pathlib import Path
from typing import Iterator

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.commands.options import (
    Command,
    add_archive_argument,
    add_language_model_options,
    add_layers_options,
    call,
    load_language_model,
)
from allennlp_semfit.common.output import check_output_path
from allennlp_semfit.common.text_files import read_lines
from allennlp_semfit.export.sentences_file import SentencesFile
from allennlp_semfit.export.word_vectors import word_vectors
from allennlp_semfit.static_vectors.table import write_table

logger = logging.getLogger(__name__)


@Subcommand.register("export-vectors")
class ExportVectors(Command):
    """Registered as a "Subcommand" with name "export-vectors"."""

    help = "Export static vectors of words."
    description = """Write a language model's vectors of words in word2vec's text format: layer 0,
        the projected input, of each word by itself, or with --contexts the mean over the
        occurrences of the word in a text."""
    out_of_memory = "use a lower --batch-size or fewer words"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_archive_argument(subparser)
        subparser.add_argument("out_file", metavar="OUT.txt", help="the table")
        subparser.add_argument(
            "--words",
            metavar="WORDS",
            required=True,
            help="UTF-8 text, one word per line; the table has them in Unicode's normalization "
            "form C",
        )
        subparser.add_argument(
            "--contexts",
            metavar="SENTENCES",
            help="UTF-8 text, one tokenized sentence per line; words that do not occur in it get "
            "no vector",
        )
        add_layers_options(
            subparser,
            default="average",
            all="with --contexts, all layers side by side",
            top="with --contexts, the last layer",
            average="with --contexts, the mean of the layers",
            normalized="with --contexts, the mean of the layers after layer normalization of each",
        )
        add_language_model_options(subparser)
        subparser.add_argument("--force", action="store_true", help="replace an existing OUT.txt")

    def run(self, args: argparse.Namespace) -> None:
        # All is checked before the model, which takes a while to load.
        inputs = filter(None, [args.archive_file, args.words, args.contexts])
        check_output_path(Path(args.out_file), force=args.force, inputs=[*inputs])
        given = dict.fromkeys(_read_words(Path(args.words)))
        if not given:
            raise ConfigurationError(f"{args.words}: it has no word to export")
        file = SentencesFile(Path(args.contexts)) if args.contexts else None
        contexts = map(str.split, file) if file else None
        embedder = load_language_model(args)
        words, vectors = call(word_vectors, args, embedder=embedder, words=given, contexts=contexts)
        if file and not words:
            # It raises an error if there are no words.
            file.summarize()
            raise ConfigurationError(
                f"{args.words}: none of its {len(given):,} words occurs in {args.contexts}; give "
                "words as they are tokenized there"
            )
        write_table(Path(args.out_file), words, vectors, force=args.force)
        size = f"{len(words):,} of {len(given):,} words, {vectors.shape[1]} dimensions"
        logger.info("%s: %s", args.out_file, size)


def _read_words(path: Path) -> Iterator[str]:
    for number, line in enumerate(read_lines(path), start=1):
        words = unicodedata.normalize("NFC", line).split()
        if len(words) > 1:
            raise ConfigurationError(
                f"{path}: line {number} has {len(words)} words, {line[:50]!r}; give one per line"
            )
        yield from words
