"""
Evaluates a language model during its training, from the checkpoints of that training:

    python -m experiments.checkpoints at MODEL REFERENCE OUT.tar.gz
    python -m experiments.checkpoints curve MODEL SENTEVAL OUT.json

`at` archives the checkpoint of MODEL that is closest to the training time of REFERENCE, `curve`
scores every checkpoint. MODEL and REFERENCE are directories that `experiments/train` wrote.
"""

import argparse
import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Mapping

from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import archive_model

import allennlp_semfit  # noqa: F401 (registers what the archives name)
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from allennlp_semfit.senteval.results_file import ResultsFile
from allennlp_semfit.senteval.run import run_tasks
from allennlp_semfit.senteval.sentence_vectors import LanguageModelVectors
from allennlp_semfit.senteval.tasks import TaskData, read_tasks
from experiments.json_files import read_json, write_json
from experiments.run_records import Checkpoint, find_checkpoints

# The SentEval tasks that take only seconds.
TASKS = ["TREC", "SICK-E"]
METRICS = ("cosine", "baseline_cosine", "perplexity")

logger = logging.getLogger("experiments")


def nearest_checkpoint(checkpoints: List[Checkpoint], seconds: float) -> Checkpoint:
    """The checkpoint closest to the given training time."""
    return min(checkpoints, key=lambda checkpoint: abs(checkpoint.seconds - seconds))


def write_archive(checkpoint: Checkpoint, out: Path) -> None:
    """Writes a model archive with the weights of the checkpoint."""
    part = out.with_name("part." + out.name)
    archive_model(checkpoint.file.parent, weights=checkpoint.file.name, archive_path=part)
    part.replace(out)


def learning_curve(
    directory: Path, data: Mapping[str, TaskData], folds: int, cuda_device: int = -1
) -> List[Dict[str, Any]]:
    """
    # Parameters

    directory : `Path`
        The directory of a finished training.
    data : `Mapping[str, TaskData]`
        The data of SentEval tasks by name.
    folds : `int`
        The number of folds for cross-validation.
    cuda_device : `int`, optional (default = `-1`)

    # Returns

    `List[Dict[str, Any]]`
        The `updates`, the `seconds`, the metrics on the held-out text and the `scores` of the tasks
        for each checkpoint.
    """
    config = read_json(directory / "config.json")
    points = []
    with TemporaryDirectory() as temporary:
        archive = Path(temporary) / "model.tar.gz"
        for checkpoint in Tqdm.tqdm(find_checkpoints(directory), desc=directory.name):
            write_archive(checkpoint, archive)
            metrics = evaluate_from_archive(
                archive, config["validation_data_path"], cuda_device=cuda_device
            )
            points.append(
                {
                    "updates": checkpoint.updates,
                    "seconds": checkpoint.seconds,
                    **{name: metrics[name] for name in METRICS if name in metrics},
                    "scores": _scores(archive, data, folds, cuda_device),
                }
            )
    return points


def _scores(
    archive: Path, data: Mapping[str, TaskData], folds: int, cuda_device: int
) -> Dict[str, float]:
    digests = {name: task_data.sha256 for name, task_data in data.items()}
    results = ResultsFile(None, folds=folds, seed=1111, data_sha256=digests)
    run_tasks(LanguageModelVectors(SentenceEmbedder(archive, cuda_device)), data, results)
    return {name: result["score"] for name, result in results.contents["tasks"].items()}


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["at", "curve"])
    parser.add_argument("model", type=Path)
    parser.add_argument("other", metavar="REFERENCE or SENTEVAL", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--folds",
        type=int,
        default=10,
        help="folds for the cross-validation of SentEval; default: 10",
    )
    parser.add_argument("--cuda-device", type=int, default=-1)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    try:
        (_write_curve if args.action == "curve" else _write_nearest)(args)
    except (ConfigurationError, OSError) as error:
        sys.exit(f"checkpoints: {error}")


def _write_curve(args: argparse.Namespace) -> None:
    data = read_tasks(args.other, TASKS, folds=args.folds)
    points = learning_curve(_check_has_checkpoints(args.model), data, args.folds, args.cuda_device)
    write_json(args.out, points)


def _write_nearest(args: argparse.Namespace) -> None:
    end = find_checkpoints(_check_has_checkpoints(args.other))[-1]
    checkpoint = nearest_checkpoint(
        find_checkpoints(_check_has_checkpoints(args.model)), end.seconds
    )
    fact = {"updates": checkpoint.updates, "seconds": checkpoint.seconds}
    # Write the archive last, so that its presence implies the JSON file.
    write_json(args.out.with_name(args.out.name[: -len(".tar.gz")] + ".json"), fact)
    write_archive(checkpoint, args.out)
    logger.info("%s: %s", args.out, fact)


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
