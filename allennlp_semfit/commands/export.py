"""The subcommands that export a trained model, or vectors that it computes, for use elsewhere."""

import argparse
import json
import logging
import shlex
import unicodedata
from pathlib import Path
from typing import Iterator

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import format_size

from allennlp_semfit.commands.options import (
    Command,
    add_language_model_options,
    add_parameters,
    call,
    load_language_model,
)
from allennlp_semfit.common.output import check_output_path
from allennlp_semfit.common.text_files import read_lines
from allennlp_semfit.export.embed_file import SentencesFile, check_vectors_path, embed_file
from allennlp_semfit.export.model_folder import export_model
from allennlp_semfit.export.task_folder import export_task
from allennlp_semfit.export.word_vectors import word_vectors
from allennlp_semfit.predictors.tagger import ANY_LANGUAGE
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from allennlp_semfit.static_vectors.table import write_table

logger = logging.getLogger(__name__)

_LANGUAGE = {"metavar": "CODE"}


@Subcommand.register("export-model")
class ExportModel(Command):
    help = "Export a language model as one folder."
    function = staticmethod(export_model)
    arguments = {
        "fasttext_model_path": {"metavar": "VECTORS.bin"},
        "tokenizer_path": {"metavar": "TOKENIZER.json"},
        "language": _LANGUAGE,
    }

    def run(self, args: argparse.Namespace) -> None:
        call(export_model, args)
        logger.info("%s is complete: you can move and share it.", args.out_dir)
        config = json.loads((Path(args.out_dir) / "config.json").read_text("utf-8"))
        # The card has a tag for any language but `xx`.
        is_known = config.get("language") not in (None, ANY_LANGUAGE)
        missing = "license" if is_known else "language and the license"
        logger.info("Next: fill in the %s in its README.md", missing)


@Subcommand.register("export-task")
class ExportTask(Command):
    help = "Export a task's model, with its language model, as one folder."
    function = staticmethod(export_task)
    arguments = {"language_model": {"metavar": "ARCHIVE"}, "language": _LANGUAGE}

    def run(self, args: argparse.Namespace) -> None:
        model_type = call(export_task, args)
        logger.info("%s is complete: you can move and share it.", args.out_dir)
        folder = shlex.quote(args.out_dir)
        plugin = "--include-package allennlp_semfit"
        if model_type == "semfit_tagger":
            sentence = """echo '{"sentence": "..."}'"""
            logger.info("Next: %s | allennlp predict %s - %s", sentence, folder, plugin)
        output = "--output-file metrics.json"
        logger.info("Next: allennlp evaluate %s TEST_DATA %s %s", folder, output, plugin)


@Subcommand.register("embed")
class Embed(Command):
    help = "Write the vectors of sentences to a file."
    function = staticmethod(embed_file)
    interrupted = "the same command resumes"
    out_of_memory = "use a lower --batch-size"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_parameters(subparser, SentenceEmbedder, "archive_file")
        add_parameters(subparser, embed_file, "sentences_file", "out_file")
        names = ("layers", "pool", "dtype", "forget_sentences", "force")
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


@Subcommand.register("export-vectors")
class ExportVectors(Command):
    help = "Export static word vectors."
    description = """Writes a language model's vectors of words in word2vec's text format: layer 0,
        the projected input, of each word by itself, or with --contexts the mean over the
        occurrences of the word in a text."""
    out_of_memory = "use a lower --batch-size or fewer words"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_parameters(subparser, SentenceEmbedder, "archive_file")
        subparser.add_argument("out_file", metavar="OUT.txt", help="the table")
        subparser.add_argument(
            "--words-file",
            metavar="FILE",
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
        add_parameters(subparser, word_vectors, "layers")
        add_language_model_options(subparser)
        subparser.add_argument("--force", action="store_true", help="replace an existing OUT.txt")

    def run(self, args: argparse.Namespace) -> None:
        # The files are checked before the model, which takes a while to load.
        inputs = filter(None, [args.archive_file, args.words_file, args.contexts])
        check_output_path(Path(args.out_file), force=args.force, inputs=[*inputs])
        given = dict.fromkeys(_read_words(Path(args.words_file)))
        if not given:
            raise ConfigurationError(f"{args.words_file}: it has no word to export")
        file = SentencesFile(Path(args.contexts)) if args.contexts else None
        contexts = map(str.split, file) if file else None
        embedder = load_language_model(args)
        words, vectors = call(word_vectors, args, embedder=embedder, words=given, contexts=contexts)
        if file and not words:
            # Raise the error of a text without words first.
            file.summarize()
            raise ConfigurationError(
                f"{args.words_file}: none of its {len(given):,} words occurs in {args.contexts}; "
                "give words as they are tokenized there"
            )
        write_table(Path(args.out_file), words, vectors)
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
