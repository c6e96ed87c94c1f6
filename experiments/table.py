"""Gathers what the runs of the Makefile beside this have scored: a table and the same as JSON."""

import json
import logging
import statistics
import sys
from pathlib import Path
from typing import Any, Dict, List

METRICS = {
    "snli": "test_accuracy",
    "sst5": "test_accuracy",
    "ner": "test_f1-measure-overall",
    "srl": "test_f1-measure-overall",
    "coref": "test_coref_f1",
}
REPRESENTATIONS = ["none", "fasttext", "elmo_semfit"]

logger = logging.getLogger("experiments")


def gather(directory: Path) -> List[Dict[str, Any]]:
    """
    # Parameters

    directory : `Path`
        With a directory `TASK.SEED.REPRESENTATION` for each run.

    # Returns

    `List[Dict[str, Any]]`
        What is known of each run that has ended; the score in percent.
    """
    runs = []
    for file in sorted(directory.glob("*.*.*/metrics.json")):
        task, seed, representation = file.parent.name.split(".")
        metrics = json.loads(file.read_text())
        if METRICS[task] in metrics:
            runs.append(
                {
                    "task": task,
                    "representation": representation,
                    "seed": int(seed),
                    "metric": METRICS[task],
                    "score": 100 * metrics[METRICS[task]],
                    "epochs": metrics["epoch"] + 1,
                    "best_epoch": metrics["best_epoch"] + 1,
                    "duration": metrics["training_duration"],
                }
            )
    return runs


def describe(runs: List[Dict[str, Any]]) -> str:
    """The table, in Markdown: the mean over the seeds and, of two or more, the deviation."""
    found = {run["representation"] for run in runs}
    representations = [name for name in REPRESENTATIONS if name in found]
    rows = [["task", "metric", *representations], ["---"] * (2 + len(representations))]
    for task, metric in METRICS.items():
        cells = []
        for representation in representations:
            scores = [
                run["score"]
                for run in runs
                if (run["task"], run["representation"]) == (task, representation)
            ]
            cell = f"{statistics.mean(scores):.1f}" if scores else ""
            if len(scores) > 1:
                cell += f" ± {statistics.stdev(scores):.1f}"
            cells.append(cell)
        rows.append([task, metric[len("test_") :], *cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    directory, out = map(Path, sys.argv[1:])
    runs = gather(directory)
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(runs, indent=2) + "\n")
    logger.info("%s\n\nEvery run: %s", describe(runs), out)


if __name__ == "__main__":
    main()
