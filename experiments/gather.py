"""
Gathers what the Makefile beside this has run, as one JSON file:

    python -m experiments.gather OUT RESULTS.json [--keep]

Runs that have not ended are left out. `SEMFIT_DATA` must be what it was when they were made.
"""

import argparse
import json
import logging
import math
import os
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

import allennlp_semfit  # noqa: F401 (registers what the configs name)
from allennlp_semfit.common.invalid_file import InvalidFileError
from allennlp_semfit.common.text_files import find_text_files
from experiments.kept_results import with_kept
from experiments.run_records import (
    checkpoints_of,
    config_hash,
    count_trainable_parameters,
    device_of,
    read_json,
    read_sittings,
    without_places,
)

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
        `curves`, `frequency`, `unseen` and `spectra`. Durations are in seconds, tasks' scores in
        percent, perplexities those of a word.

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
    return {
        "language_models": models,
        "in_time": [
            {"name": file.stem, "corpus": file.parent.parent.name, **read_json(file)}
            for file in _sorted(out, "*/in_time/*.json")
        ],
        "tasks": [row for file in tasks for row in _task(file, places)],
        "senteval": [_senteval(file) for file in _sorted(out, "senteval/*.json")],
        "curves": [_curve(file, models) for file in _sorted(out, "*/curves/*.json")],
        "frequency": [
            {"name": file.stem, "corpus": file.parent.parent.name, "rows": read_json(file)["rows"]}
            for file in _sorted(out, "*/frequency/*.json")
        ],
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
    words, updates = _count(config, _last_epoch(run, metrics) + 1, corpus / "train")
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
    if checkpoints:
        row["training_seconds"] = updates * checkpoints[0].seconds / checkpoints[0].updates
    elif row["sittings"] == 1 and not row["duration_is_partial"]:
        row["training_seconds"] = row["duration"]
    else:
        row["training_seconds"] = None
    seconds = row["training_seconds"]
    row["words_per_second"] = round(words / seconds, 1) if seconds else None
    for metric in ("cosine", "constant_cosine", "perplexity"):
        if f"best_validation_{metric}" in metrics:
            row[metric] = metrics[f"best_validation_{metric}"]
    row["tokens_per_word"] = _tokens_per_word(run, places)
    if "perplexity" in row:
        row["perplexity"] **= row["tokens_per_word"]
    return row


def _last_epoch(run: Path, metrics: Row) -> int:
    """`epoch` is not among the metrics of a run that was killed after its last one, and went on."""
    if "epoch" in metrics:
        return metrics["epoch"]
    return max(int(file.stem.split("_")[-1]) for file in run.glob("metrics_epoch_*.json"))


def _count(config: Row, num_epochs: int, text: Path) -> Tuple[int, Any]:
    """
    The words that a training has read, boundaries not counted, and its updates: `None` if they
    cannot be told from the config.
    """
    num_sentences, num_words = _count_text(text)
    loader = config["data_loader"]
    batch_size = {**loader, **loader.get("batch_sampler", {})}.get("batch_size")
    num_processes = len(config.get("distributed", {}).get("cuda_devices", [0]))
    num_batches = loader.get("batches_per_epoch")
    # Of the text, in an epoch.
    share = 1.0
    if batch_size and num_batches:
        share = num_batches * batch_size * num_processes / num_sentences
    elif batch_size:
        num_batches = math.ceil(num_sentences / num_processes / batch_size)
    words = round(num_epochs * share * num_words)
    if not num_batches:
        return words, None
    accumulated = config.get("trainer", {}).get("num_gradient_accumulation_steps", 1)
    return words, num_epochs * math.ceil(num_batches / accumulated)


@lru_cache(maxsize=None)
def _count_text(text: Path) -> Tuple[int, int]:
    """Its sentences and words; it must have some."""
    num_sentences = num_words = 0
    for file in find_text_files([text]):
        with file.open("rb") as lines:
            for line in lines:
                num_in_line = len(line.split())
                num_sentences += num_in_line > 0
                num_words += num_in_line
    return num_sentences, num_words


def _tokens_per_word(run: Path, places: Mapping[str, str]) -> float:
    """Of the held-out text, each with its sentences' ends."""
    reader = read_json(run / "config.json")["dataset_reader"]
    if "tokenizer" not in reader:
        return 1.0
    del reader["token_indexers"]
    here = os.path.abspath(run.parent.parent.parent)
    moved = {place: here if name == "$OUT" else place for place, name in places.items()}
    reader = without_places(reader, moved)
    text = run.parent.parent / "heldout.txt"
    # What is before the first token is not predicted.
    tokens = sum(
        len(instance["source"]) - 1
        for instance in DatasetReader.from_params(Params(reader)).read(str(text))
    )
    sentences = [line.split() for line in text.read_text("utf-8").splitlines()]
    return tokens / sum(len(sentence) + 1 for sentence in sentences if sentence)


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
        results = gather(args.out)
        if args.keep:
            results = with_kept(results, read_json(args.results), name=str(args.results))
    except ConfigurationError as error:
        sys.exit(str(error))
    args.results.parent.mkdir(parents=True, exist_ok=True)
    args.results.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    counts = ", ".join(f"{len(rows)} {key}" for key, rows in results.items())
    logger.info("%s: %s", args.results, counts)


if __name__ == "__main__":
    main()
