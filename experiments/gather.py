"""
Gathers what the Makefile beside this has run, as one JSON file:

    python -m experiments.gather OUT RESULTS.json [--keep]

Runs that have not ended are left out. `SEMFIT_DATA` must be what it was when they were made.
"""

import argparse
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json, write_json
from experiments.merge_results import with_kept
from experiments.run_records import (
    checkpoints_of,
    config_hash,
    count_trainable_parameters,
    device_of,
    read_sittings,
)
from experiments.token_counts import count_words_and_updates, tokens_per_word

__all__ = ["METRICS", "Row", "gather"]

METRICS = {
    "snli": "test_accuracy",
    "coref": "test_coref_f1",
    "sst5": "test_accuracy",
    "ner": "test_f1-measure-overall",
    "srl": "test_f1-measure-overall",
    "bc5cdr": "test_f1-measure-overall",
}

Row = Dict[str, Any]

logger = logging.getLogger("experiments")


def gather(out: Path) -> Dict[str, List[Row]]:
    """
    # Parameters

    out : `Path`
        The Makefile's `OUT`.

    # Returns

    `Dict[str, List[Dict[str, Any]]]`
        `language_models`, `in_time` (the checkpoints of equal training time), `tasks`, `senteval`,
        `curves`, `frequency`, `layers`, `unseen` and `spectra`. Durations are in seconds, tasks'
        scores in percent, perplexities those of a word.

    # Raises

    `InvalidFileError`
        If it is not such a directory, or a file in it is not what it should be.
    """
    runs = [file.parent for file in _sorted(out, "*/models/*/config.json")]
    tasks = [file.with_name("metrics.json") for file in _sorted(out, "tasks/*/done")]
    if not runs and not tasks:
        raise InvalidFileError(
            f"{out}: there is no CORPUS/models and no tasks in it; give the directory that "
            "`make -C experiments` was given as OUT"
        )
    places = _places(out, runs)
    models = [_language_model(run, places) for run in runs if (run / "done").exists()]
    speeds = {(model["corpus"], model["name"]): model["words_per_second"] for model in models}
    for model in models:
        corpus, speed = model["corpus"], model["words_per_second"]
        elmo = speeds.get((corpus, "elmo")) or _speed_so_far(out / corpus / "models" / "elmo")
        model["speed_up"] = round(speed / elmo, 3) if speed and elmo else None
    return {
        "language_models": models,
        "in_time": [{**name, **content} for name, content in _of_models(out, "in_time")],
        "tasks": [row for file in tasks for row in _task(file, places)],
        "senteval": [_senteval(file) for file in _sorted(out, "senteval/*.json")],
        "curves": [_curve(file, models) for file in _sorted(out, "*/curves/*.json")],
        "frequency": [
            {**name, "rows": content["rows"]} for name, content in _of_models(out, "frequency")
        ],
        "layers": [{**name, "rows": rows} for name, rows in _of_models(out, "layers")],
        "unseen": [
            row for file in _sorted(out, "unseen/*.json") for row in read_json(file)["rows"]
        ],
        "spectra": [
            {"corpus": file.parent.name, **row}
            for file in _sorted(out, "*/spectrum.json")
            for row in read_json(file)
        ],
    }


def _sorted(out: Path, pattern: str) -> List[Path]:
    return sorted(out.glob(pattern))


def _of_models(out: Path, part: str) -> Iterator[Tuple[Row, Any]]:
    """The name and the corpus of each language model that has such a file, and what is in it."""
    for file in _sorted(out, f"*/{part}/*.json"):
        yield {"name": file.stem, "corpus": file.parent.parent.name}, read_json(file)


def _places(out: Path, runs: List[Path]) -> Dict[str, str]:
    """What `without_places` takes. `OUT` may have been elsewhere when the runs were made."""
    places = {}
    for path, name in (
        (Path(__file__).parent.parent, "$REPOSITORY"),
        (os.environ.get("SEMFIT_DATA"), "$SEMFIT_DATA"),
        (out, "$OUT"),
    ):
        if path:
            places[os.path.abspath(path)] = places[os.path.realpath(path)] = name
    for run in runs:
        train = read_json(run / "config.json")["train_data_path"]
        end = f"/{run.parent.parent.name}/train"
        if isinstance(train, str) and train.endswith(end):
            places[train[: -len(end)]] = "$OUT"
    return places


def _language_model(run: Path, places: Mapping[str, str]) -> Row:
    config, metrics = read_json(run / "config.json"), read_json(run / "metrics.json")
    corpus = run.parent.parent
    words, updates = count_words_and_updates(
        config, _last_epoch(run, metrics) + 1, corpus / "train"
    )
    row: Row = {
        "name": run.name,
        "corpus": corpus.name,
        "config_hash": config_hash(config, places),
        "device": device_of(metrics),
        **read_sittings(run),
        "words": words,
        "updates": updates,
        "trainable_parameters": count_trainable_parameters(run),
    }
    checkpoints = checkpoints_of(run)
    # Without the start, validation and archiving, if that can be told.
    if checkpoints and updates:
        row["training_seconds"] = updates * checkpoints[0].seconds / checkpoints[0].updates
    elif row["sessions"] == 1 and not row["duration_is_partial"]:
        row["training_seconds"] = row["duration"]
    else:
        row["training_seconds"] = None
    seconds = row["training_seconds"]
    row["words_per_second"] = round(words / seconds, 1) if seconds else None
    for metric in ("cosine", "baseline_cosine", "perplexity"):
        if f"best_validation_{metric}" in metrics:
            row[metric] = metrics[f"best_validation_{metric}"]
    row["tokens_per_word"] = tokens_per_word(run, places)
    if "perplexity" in row:
        row["perplexity"] **= row["tokens_per_word"]
    return row


def _speed_so_far(run: Path) -> Optional[float]:
    """Words a second, if the run has two checkpoints."""
    checkpoints = checkpoints_of(run) if (run / "config.json").exists() else []
    if not checkpoints:
        return None
    text = run.parent.parent / "train"
    words, updates = count_words_and_updates(read_json(run / "config.json"), 1, text)
    assert updates, "checkpoints_of needs `batches_per_epoch`, by which they can be told"
    return words / updates * checkpoints[0].updates / checkpoints[0].seconds


def _last_epoch(run: Path, metrics: Row) -> int:
    """`epoch` is not among the metrics of a run that was killed after its last one, and went on."""
    if "epoch" in metrics:
        return metrics["epoch"]
    return max(int(file.stem.split("_")[-1]) for file in run.glob("metrics_epoch_*.json"))


def _task(file: Path, places: Mapping[str, str]) -> List[Row]:
    """One row, or none if the run has not been evaluated on the test data."""
    match = re.fullmatch(r"([^.]+)\.(\d+)\.(.+)", file.parent.name)
    if not match or match[1] not in METRICS:
        raise InvalidFileError(
            f"{file.parent}: it should be called TASK.SEED.REPRESENTATION, the task being one of "
            f"{', '.join(METRICS)}"
        )
    task, seed, representation = match.groups()
    metrics = read_json(file)
    if METRICS[task] not in metrics:
        return []
    return [
        {
            "task": task,
            "representation": representation,
            "seed": int(seed),
            "metric": METRICS[task],
            "score": 100 * metrics[METRICS[task]],
            "epochs": _last_epoch(file.parent, metrics) + 1,
            "best_epoch": metrics["best_epoch"] + 1,
            "config_hash": config_hash(read_json(file.parent / "config.json"), places),
            "device": device_of(metrics),
            **read_sittings(file.parent),
        }
    ]


def _senteval(file: Path) -> Row:
    """Of what `allennlp senteval` writes, the scores in percent."""
    results = read_json(file)
    try:
        scores = {task: result["score"] for task, result in sorted(results["tasks"].items())}
        return {"representation": file.stem, "average": results["average"], "scores": scores}
    except (KeyError, TypeError, AttributeError):
        raise InvalidFileError(
            f"{file}: it is not what `allennlp senteval` writes, an object with `average` and with "
            "`tasks`, of which each has a `score`"
        ) from None


def _curve(file: Path, models: List[Row]) -> Row:
    """Of one of these language models; perplexities become those of a word."""
    corpus = file.parent.parent.name
    found = [row for row in models if (row["corpus"], row["name"]) == (corpus, file.stem)]
    if not found:
        raise InvalidFileError(f"{file}: {corpus}/models/{file.stem}, whose it is, has not ended")
    (model,) = found
    points = sorted(read_json(file), key=lambda point: point["updates"])
    for point in points:
        if model["updates"]:
            point["words"] = round(point["updates"] * model["words"] / model["updates"])
        if "perplexity" in point:
            point["perplexity"] **= model["tokens_per_word"]
    return {"name": file.stem, "corpus": corpus, "points": points}


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    parser = argparse.ArgumentParser(prog="experiments.gather", description=__doc__)
    parser.add_argument("out", type=Path, help="the Makefile's OUT")
    parser.add_argument("results", type=Path, help="a JSON file")
    parser.add_argument(
        "--keep", action="store_true", help="keep what the file has of runs that OUT does not have"
    )
    args = parser.parse_args(arguments)
    try:
        kept = read_json(args.results) if args.keep and args.results.exists() else None
        results = gather(args.out)
        if kept is not None:
            results = with_kept(results, kept, name=str(args.results))
    except ConfigurationError as error:
        sys.exit(str(error))
    write_json(args.results, results)
    counts = ", ".join(f"{len(rows)} {key}" for key, rows in results.items())
    logger.info("%s: %s", args.results, counts)


if __name__ == "__main__":
    main()
