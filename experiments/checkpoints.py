"""
Archives the checkpoint of a language model that is closest to the training time of another:

    python -m experiments.checkpoints MODEL REFERENCE OUT.tar.gz

MODEL and REFERENCE are directories that `experiments/train` wrote.
"""

import logging
import sys
from pathlib import Path
from typing import List

from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import archive_model

import allennlp_semfit  # noqa: F401 (registers what the archives name)
from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import write_json
from experiments.run_records import Checkpoint, find_checkpoints

logger = logging.getLogger("experiments")


def nearest_checkpoint(checkpoints: List[Checkpoint], seconds: float) -> Checkpoint:
    """The checkpoint closest to the given training time."""
    return min(checkpoints, key=lambda checkpoint: abs(checkpoint.seconds - seconds))


def write_archive(checkpoint: Checkpoint, out: Path) -> None:
    """Writes a model archive with the weights of the checkpoint."""
    part = out.with_name("part." + out.name)
    archive_model(checkpoint.file.parent, weights=checkpoint.file.name, archive_path=part)
    part.replace(out)


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    if len(sys.argv) != 4:
        sys.exit("python -m experiments.checkpoints MODEL REFERENCE OUT.tar.gz")
    model, reference, out = map(Path, sys.argv[1:])
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        end = find_checkpoints(_check_has_checkpoints(reference))[-1]
        checkpoint = nearest_checkpoint(
            find_checkpoints(_check_has_checkpoints(model)), end.seconds
        )
        fact = {"updates": checkpoint.updates, "seconds": checkpoint.seconds}
        # Write the archive last, so that its presence implies the JSON file.
        write_json(out.with_name(out.name[: -len(".tar.gz")] + ".json"), fact)
        write_archive(checkpoint, out)
    except (ConfigurationError, OSError) as error:
        sys.exit(f"checkpoints: {error}")
    logger.info("%s: %s", out, fact)


def _check_has_checkpoints(run: Path) -> Path:
    if not find_checkpoints(run):
        raise InvalidFileError(
            run,
            "has fewer than two checkpoints",
            "Set `save_every_num_batches` of the checkpointer, and its `keep_most_recent_by_count` "
            "to null.",
        )
    return run


if __name__ == "__main__":
    main()
