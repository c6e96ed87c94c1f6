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

from allennlp_semfit.commands.options import exit_on_error
from allennlp_semfit.pretrained.character_cnn import export_character_cnn

logger = logging.getLogger(__name__)


@Subcommand.register("export-character-cnn")
class ExportCharacterCnn(Subcommand):
    """Registered as a "Subcommand" with name "export-character-cnn"."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Write the character CNN of a trained language model in ELMo's format, as
            OUT_DIR/options.json and OUT_DIR/weights.hdf5. The model must read words with the
            `elmo_characters` indexer and a `character_encoding` embedder whose encoder is
            `cnn-highway`."""
        subparser = parser.add_parser(
            self.name, description=description, help="Export a language model's character CNN."
        )
        subparser.add_argument(
            "archive",
            metavar="ARCHIVE",
            help="the model.tar.gz of a language model, or its serialization directory",
        )
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", help="the output directory, created if missing"
        )
        subparser.add_argument(
            "--force", action="store_true", help="write to OUT_DIR even if it is not empty"
        )
        subparser.set_defaults(func=_run)
        return subparser


@exit_on_error("export-character-cnn")
def _run(args: argparse.Namespace) -> None:
    options = export_character_cnn(args.archive, args.out_dir, force=args.force)
    logger.info(
        "%s: a character CNN of %s filters, %d highway layers, %d dimensions.",
        args.out_dir,
        f"{options.num_filters:,}",
        options.num_highways,
        options.projection_dim,
    )
    embedder = {
        "type": "elmo_character_cnn",
        "options": options.to_json(),
        "pretrained_file": str(Path(args.out_dir) / "weights.hdf5"),
    }
    logger.info(
        "Next: with an indexer of type `elmo_characters`, use the embedder %s", json.dumps(embedder)
    )
