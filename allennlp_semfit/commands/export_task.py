"""
The `export-task` subcommand writes a folder that has all of a task's model.

    allennlp export-task output/ner/model.tar.gz my-tagger
"""

import argparse
import logging
import shlex

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import (
    Command,
    add_moved_files_options,
    add_options,
    call,
    no_params_logged,
)
from allennlp_semfit.export.task_folder import export_task

logger = logging.getLogger(__name__)


@Subcommand.register("export-task")
class ExportTask(Command):
    """Registered as a "Subcommand" with name "export-task"."""

    help = "Export a task's model, with its language model, as one folder."
    description = """Write a folder that has all of the model of a task: its configuration, weights
        and vocabulary, the language model of its `elmo_semfit` embedder, and other files that it
        reads. `allennlp predict` and `allennlp evaluate` take the folder, wherever it is moved. If
        the model is a `crf_tagger` or `simple_tagger`, `allennlp predict` then tags raw text."""

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        subparser.add_argument(
            "archive_file",
            metavar="ARCHIVE",
            help="the task's model.tar.gz or serialization directory",
        )
        subparser.add_argument("out_dir", metavar="FOLDER", help="the folder, created if missing")
        add_options(
            subparser,
            export_task,
            language_model={
                "metavar": "ARCHIVE",
                "help": "the language model, if it has been moved since training",
            },
        )
        add_moved_files_options(subparser, export_task)
        add_options(
            subparser,
            export_task,
            language={
                "metavar": "CODE",
                "help": "the language by whose rules a tagger splits text, a code of spaCy such as "
                "en, or xx for any other; the default is the language model's",
            },
            compact="see export-model",
            force="replace a model in FOLDER",
        )

    def run(self, args: argparse.Namespace) -> None:
        with no_params_logged():
            model_type = call(export_task, args)
        logger.info("%s has all that the model needs. You can move and share it.", args.out_dir)
        folder = shlex.quote(args.out_dir)
        plugin = "--include-package allennlp_semfit"
        if model_type == "semfit_tagger":
            sentence = """echo '{"sentence": "..."}'"""
            logger.info("Next: %s | allennlp predict %s - %s", sentence, folder, plugin)
        output = "--output-file metrics.json"
        logger.info("Next: allennlp evaluate %s TEST_DATA %s %s", folder, output, plugin)
