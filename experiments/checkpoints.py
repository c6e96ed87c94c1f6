"""
What a language model was worth while it was being trained, from the checkpoints that its training
has kept:

    python -m experiments.checkpoints at MODEL REFERENCE OUT.tar.gz
    python -m experiments.checkpoints curve MODEL SENTEVAL OUT.json

MODEL and REFERENCE are directories of trainings that `train`, beside this, has run.
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
from experiments.run_records import Checkpoint, checkpoints_of

# Of SentEval, those that are scored in seconds.
TASKS = ["TREC", "SICK-E"]
METRICS = ("cosine", "baseline_cosine", "perplexity")

logger = logging.getLogger("experiments")


def nearest(checkpoints: List[Checkpoint], seconds: float) -> Checkpoint:
    """The checkpoint that is nearest to so many seconds of training."""
    return min(checkpoints, key=lambda checkpoint: abs(checkpoint.seconds - seconds))


def write_archive(checkpoint: Checkpoint, out: Path) -> None:
    """Puts the checkpoint's weights into an archive as AllenNLP makes one of a training's end."""
    part = out.with_name("part." + out.name)
    archive_model(checkpoint.file.parent, weights=checkpoint.file.name, archive_path=part)
    part.replace(out)


def curve(
    directory: Path, data: Mapping[str, TaskData], folds: int, cuda_device: int = -1
) -> List[Dict[str, Any]]:
    """
    # Parameters

    directory : `Path`
        Of a training that has ended.
    data : `Mapping[str, TaskData]`
        SentEval's, by the names of the tasks.
    folds : `int`
        Of its cross-validations.
    cuda_device : `int`, optional (default = `-1`)

    # Returns

    `List[Dict[str, Any]]`
        For each checkpoint its `updates`, its `seconds`, the metrics of the held-out text and
        `scores`, those of the tasks.
    """
    config = read_json(directory / "config.json")
    points = []
    with TemporaryDirectory() as temporary:
        archive = Path(temporary) / "model.tar.gz"
        for checkpoint in Tqdm.tqdm(checkpoints_of(directory), desc=directory.name):
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
    parser.add_argument("what", choices=["at", "curve"])
    parser.add_argument("model", type=Path)
    parser.add_argument("other", metavar="REFERENCE or SENTEVAL", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folds", type=int, default=10, help="of SentEval")
    parser.add_argument("--cuda-device", type=int, default=-1)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    try:
        (_write_curve if args.what == "curve" else _write_nearest)(args)
    except (ConfigurationError, OSError) as error:
        sys.exit(f"checkpoints: {error}")


def _write_curve(args: argparse.Namespace) -> None:
    data = read_tasks(args.other, TASKS, folds=args.folds)
    points = curve(_with_checkpoints(args.model), data, args.folds, args.cuda_device)
    write_json(args.out, points)


def _write_nearest(args: argparse.Namespace) -> None:
    end = checkpoints_of(_with_checkpoints(args.other))[-1]
    checkpoint = nearest(checkpoints_of(_with_checkpoints(args.model)), end.seconds)
    fact = {"updates": checkpoint.updates, "seconds": checkpoint.seconds}
    # The archive comes last: where it is, both are.
    write_json(args.out.with_name(args.out.name[: -len(".tar.gz")] + ".json"), fact)
    write_archive(checkpoint, args.out)
    logger.info("%s: %s", args.out, fact)


def _with_checkpoints(run: Path) -> Path:
    if not checkpoints_of(run):
        raise InvalidFileError(
            f"{run}: fewer than two checkpoints are left of this training; set the checkpointer's "
            "`keep_most_recent_by_count` to null, and `save_every_num_batches`"
        )
    return run


if __name__ == "__main__":
    main()
