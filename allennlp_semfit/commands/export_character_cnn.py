"""
The `export-character-cnn` subcommand writes the character CNN of a trained language model in ELMo's
format.

    allennlp export-character-cnn output/elmo/model.tar.gz output/character_cnn
"""

import argparse
import json
import logging
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from allennlp_semfit.commands.options import (
    Command,
    add_archive_argument,
    add_options,
    call,
)
from allennlp_semfit.export.character_cnn import export_character_cnn

logger = logging.getLogger(__name__)


@Subcommand.register("export-character-cnn")
class ExportCharacterCnn(Command):
    """Registered as a "Subcommand" with name "export-character-cnn"."""

    help = "Export a language model's character CNN."
    description = """Write the character CNN of a trained language model in ELMo's format, as
        OUT_DIR/options.json and OUT_DIR/weights.hdf5. The model must read words with the
        `elmo_characters` indexer and a `character_encoding` embedder whose encoder is
        `cnn-highway`."""
    shows_progress = False

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_archive_argument(subparser)
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="the output directory, created if missing"
        )
        add_options(
            subparser, export_character_cnn, force="write to OUT_DIR even if it is not empty"
        )

    def run(self, args: argparse.Namespace) -> None:
        options = call(export_character_cnn, args)
        cnn = options["char_cnn"]
        logger.info(
            f"{args.out_dir}: a character CNN of {sum(n for _, n in cnn['filters']):,} filters, "
            f"{cnn['n_highway']} highway layers, {options['lstm']['projection_dim']} dimensions."
        )
        embedder = {
            "type": "elmo_character_cnn",
            "options": options,
            "pretrained_file": str(Path(args.out_dir) / "weights.hdf5"),
        }
        logger.info(
            "Next: with an indexer of type `elmo_characters`, use the embedder %s",
            json.dumps(embedder),
        )
