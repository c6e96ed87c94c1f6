"""
The `export-model` subcommand writes a folder that has all of a trained language model.

    allennlp export-model output/elmo_semfit/model.tar.gz my-model
"""

import argparse
import logging

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import (
    Command,
    add_archive_argument,
    add_moved_files_options,
    add_options,
    call,
    no_params_logged,
)
from allennlp_semfit.export.model_folder import export_model

logger = logging.getLogger(__name__)


@Subcommand.register("export-model")
class ExportModel(Command):
    """Registered as a "Subcommand" with name "export-model"."""

    help = "Export a language model as one folder."
    description = """Write a folder that has all of a trained language model: its configuration,
        parameters and vocabulary, the fastText file or other files that it reads, and a model card.
        The indexer and embedder `elmo_semfit`, `SentenceEmbedder` and the commands of this package
        take the folder in place of the model's archive, wherever it is moved; AllenNLP's own
        `evaluate` and `predict` need the archive."""

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_archive_argument(subparser)
        subparser.add_argument("out_dir", metavar="FOLDER", help="the folder, created if missing")
        add_moved_files_options(subparser, export_model)
        add_options(
            subparser,
            export_model,
            language={
                "metavar": "CODE",
                "help": "the language of the text, a spaCy code such as en, or xx if spaCy lacks "
                "it (default = the language in corpus.json beside the training text)",
            },
            compact="write the fastText vectors to a file of a quarter of the size or less, which "
            "rounds them",
            force="replace a model in FOLDER",
        )

    def run(self, args: argparse.Namespace) -> None:
        with no_params_logged():
            call(export_model, args)
        logger.info("%s has all that the model needs. You can move and share it.", args.out_dir)
        logger.info("Next: fill in the language and the license in its README.md")
