import argparse
import logging
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.commands.options import Command
from allennlp_semfit.common.output import copy_files, write_directory

logger = logging.getLogger(__name__)

_PACKAGE = Path(__file__).parents[1]
_NAME = "training_config"


@Subcommand.register("copy-configs")
class CopyConfigs(Command):
    help = "Copy the configs of allennlp_semfit."
    description = """Copies the configs of allennlp_semfit, to change them or to import them in
        your own. A clone of the repository already has them."""
    interrupted = "nothing was copied"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        subparser.add_argument(
            "out_dir", metavar="OUT_DIR", nargs="?", default=_NAME, help="the directory to create"
        )

    def run(self, args: argparse.Namespace) -> None:
        out_dir = Path(args.out_dir)
        if out_dir.exists():
            raise ConfigurationError(f"{out_dir} exists; give the name of another directory")
        installed = _PACKAGE / _NAME
        # In a clone of the repository, the configs are next to the package.
        source = installed if installed.is_dir() else _PACKAGE.parent / _NAME
        contents = [path.name for path in source.iterdir()]
        with write_directory(out_dir, contents) as new:
            copy_files(source, new)
        logger.info(
            "Next: for text in data/mine, save a config of one line: (import "
            "'%s/elmo_semfit.jsonnet') + { corpus:: 'data/mine' }",
            out_dir,
        )
