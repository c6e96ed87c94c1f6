"""
What a language model was worth while it was being trained, from the checkpoints that its training
has kept:

    python -m experiments.checkpoints at MODEL REFERENCE OUT.tar.gz
    python -m experiments.checkpoints curve MODEL SENTEVAL OUT.json

MODEL and REFERENCE are directories of trainings that `train`, beside this, has run.
"""

import json
import logging
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Mapping

from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.common import Tqdm
from allennlp.models.archival import archive_model

import allennlp_semfit  # noqa: F401 (registers what the archives name)
from allennlp_semfit.predictors.sentence_embedder import SentenceEmbedder
from allennlp_semfit.senteval.results_file import ResultsFile
from allennlp_semfit.senteval.run import run_tasks
from allennlp_semfit.senteval.sentence_vectors import LanguageModelVectors
from allennlp_semfit.senteval.tasks import TaskData, read_tasks
from experiments.run_records import read_sittings

# Of SentEval, those that are scored in seconds.
TASKS = ["TREC", "SICK-E"]
FOLDS = 5
METRICS = ("cosine", "constant_cosine", "perplexity")

logger = logging.getLogger("experiments")


@dataclass(frozen=True)
class Checkpoint:
    """A file of weights, the updates that had been made, and the seconds that they had taken."""

    file: Path
    updates: int
    seconds: float


def checkpoints_of(directory: Path) -> List[Checkpoint]:
    """
    # Parameters

    directory : `Path`
        Of a training.

    # Returns

    `List[Checkpoint]`
        The first first; the last is that of the training's end.
    """
    config = json.loads((directory / "config.json").read_text("utf-8"))
    found: Dict[int, Checkpoint] = {}
    for file in directory.glob("model_state_e*_b*.th"):
        epoch, batch = map(int, re.findall(r"\d+", file.name))
        updates = epoch * config["data_loader"]["batches_per_epoch"] + batch
        seconds = read_sittings(directory, file.stat().st_mtime)["duration"]
        # The end of an epoch, after validation, may be one that was made after its last update too.
        if updates not in found or seconds < found[updates].seconds:
            found[updates] = Checkpoint(file, updates, seconds)
    return [found[updates] for updates in sorted(found)]


def nearest(checkpoints: List[Checkpoint], seconds: float) -> Checkpoint:
    """The checkpoint that was written nearest to so many seconds from the beginning."""
    return min(checkpoints, key=lambda checkpoint: abs(checkpoint.seconds - seconds))


def write_archive(checkpoint: Checkpoint, out: Path) -> None:
    """Puts the checkpoint's weights into an archive as AllenNLP makes one of a training's end."""
    archive_model(checkpoint.file.parent, weights=checkpoint.file.name, archive_path=out)


def curve(directory: Path, data: Mapping[str, TaskData]) -> List[Dict[str, Any]]:
    """
    # Parameters

    directory : `Path`
        Of a training that has ended.
    data : `Mapping[str, TaskData]`
        SentEval's, by the names of the tasks.

    # Returns

    `List[Dict[str, Any]]`
        For each checkpoint its `updates`, its `seconds`, the metrics of the held-out text and
        `scores`, those of the tasks.
    """
    config = json.loads((directory / "config.json").read_text("utf-8"))
    points = []
    with TemporaryDirectory() as temporary:
        archive = Path(temporary) / "model.tar.gz"
        for checkpoint in Tqdm.tqdm(checkpoints_of(directory), desc=directory.name):
            write_archive(checkpoint, archive)
            metrics = evaluate_from_archive(archive, config["validation_data_path"])
            points.append(
                {
                    "updates": checkpoint.updates,
                    "seconds": checkpoint.seconds,
                    **{name: metrics[name] for name in METRICS if name in metrics},
                    "scores": _scores(archive, data),
                }
            )
    return points


def _scores(archive: Path, data: Mapping[str, TaskData]) -> Dict[str, float]:
    digests = {name: task_data.sha256 for name, task_data in data.items()}
    results = ResultsFile(None, folds=FOLDS, seed=1111, data_sha256=digests)
    run_tasks(LanguageModelVectors(SentenceEmbedder(archive)), data, results)
    return {name: result["score"] for name, result in results.contents["tasks"].items()}


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    what, model, other, out = sys.argv[1], *map(Path, sys.argv[2:])
    out.parent.mkdir(parents=True, exist_ok=True)
    if what == "curve":
        out.write_text(
            json.dumps(curve(model, read_tasks(other, TASKS, folds=FOLDS)), indent=2) + "\n"
        )
    else:
        checkpoint = nearest(checkpoints_of(model), read_sittings(other)["duration"])
        write_archive(checkpoint, out)
        fact = {"updates": checkpoint.updates, "seconds": checkpoint.seconds}
        out.with_name(out.name[: -len(".tar.gz")] + ".json").write_text(json.dumps(fact) + "\n")
        logger.info("%s: %s", out, fact)


if __name__ == "__main__":
    main()
