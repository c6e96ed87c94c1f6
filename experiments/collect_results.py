"""
Collects the results of all finished runs of the Makefile into one JSON file:

    python -m experiments.collect_results OUT RESULTS.json [--keep]

`SEMFIT_DATA` must have the value that it had during the runs.
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
from experiments.merge_results import merge_results
from experiments.run_records import (
    config_hash,
    count_trainable_parameters,
    device_name,
    find_checkpoints,
    read_sessions,
)
from experiments.token_counts import count_words_and_updates, tokens_per_word

__all__ = ["METRICS", "Row", "collect_results"]

METRICS = {
    "snli": "test_accuracy",
    "coref": "test_coref_f1",
    "sst5": "test_accuracy",
    "ner": "test_f1-measure-overall",
    "srl": "test_f1-measure-overall",
    "bc5cdr": "test_f1-measure-overall",
    "yor": "test_f1-measure-overall",
    "wol": "test_f1-measure-overall",
}

Row = Dict[str, Any]

logger = logging.getLogger("experiments")


def collect_results(out: Path) -> Dict[str, List[Row]]:
    """
    # Parameters

    out : `Path`
        The output directory of the Makefile, `OUT`.

    # Returns

    `Dict[str, List[Dict[str, Any]]]`
        `language_models`, `equal_time` (checkpoints of equal training time), `tasks`, `senteval`,
        `cloze`, `oov_entities` and `probes`. Durations are in seconds, scores in percent,
        perplexities per word.

    # Raises

    `InvalidFileError`
        If `out` contains no runs, or if a file in it is invalid.
    """
    runs = [file.parent for file in _sorted(out, "*/models/*/config.json")]
    tasks = [file.with_name("metrics.json") for file in _sorted(out, "tasks/*/done")]
    probes = [file.parent for file in _sorted(out, "*/probes/*/done")]
    if not runs and not tasks and not probes:
        raise InvalidFileError(
            out,
            "has no CORPUS/models, CORPUS/probes or tasks",
            "Give the OUT directory of `make -C experiments`.",
        )
    roots = _roots(out, runs)
    models = [_language_model(run, roots) for run in runs if (run / "done").exists()]
    speeds = {(model["corpus"], model["name"]): model["words_per_second"] for model in models}
    for model in models:
        corpus, speed = model["corpus"], model["words_per_second"]
        elmo = speeds.get((corpus, "elmo")) or _speed_so_far(out / corpus / "models" / "elmo")
        model["speed_up"] = round(speed / elmo, 3) if speed and elmo else None
    return {
        "language_models": models,
        "equal_time": [
            {**name, **content} for name, content in _files_of_models(out, "equal_time")
        ],
        "tasks": [row for file in tasks for row in _task(file, roots)],
        "senteval": [_senteval(file) for file in _sorted(out, "senteval/*.json")],
        "cloze": [
            {**name, "rows": content["rows"]} for name, content in _files_of_models(out, "cloze")
        ],
        "oov_entities": [
            row for file in _sorted(out, "oov_entities/*.json") for row in read_json(file)["rows"]
        ],
        "probes": [row for run in probes for row in _probe(run)],
    }


def _sorted(out: Path, pattern: str) -> List[Path]:
    return sorted(out.glob(pattern))


def _files_of_models(out: Path, part: str) -> Iterator[Tuple[Row, Any]]:
    """The name and corpus of each language model with such a file, and the file's content."""
    for file in _sorted(out, f"*/{part}/*.json"):
        yield {"name": file.stem, "corpus": file.parent.parent.name}, read_json(file)


def _roots(out: Path, runs: List[Path]) -> Dict[str, str]:
    """The roots for `replace_roots`. The runs may name a former path of `OUT`."""
    roots = {}
    for path, name in (
        (Path(__file__).parent.parent, "$REPOSITORY"),
        (os.environ.get("SEMFIT_DATA"), "$SEMFIT_DATA"),
        (out, "$OUT"),
    ):
        if path:
            roots[os.path.abspath(path)] = roots[os.path.realpath(path)] = name
    for run in runs:
        train = read_json(run / "config.json")["train_data_path"]
        end = f"/{run.parent.parent.name}/train"
        if isinstance(train, str) and train.endswith(end):
            roots[train[: -len(end)]] = "$OUT"
    return roots


def _language_model(run: Path, roots: Mapping[str, str]) -> Row:
    config, metrics = read_json(run / "config.json"), read_json(run / "metrics.json")
    corpus = run.parent.parent
    words, updates = count_words_and_updates(
        config, _last_epoch(run, metrics) + 1, corpus / "train"
    )
    row: Row = {
        "name": run.name,
        "corpus": corpus.name,
        "config_hash": config_hash(config, roots),
        "device": device_name(metrics),
        **read_sessions(run),
        "words": words,
        "updates": updates,
        "trainable_parameters": count_trainable_parameters(run),
    }
    checkpoints = find_checkpoints(run)
    # Checkpoints exclude start-up, validation and archiving.
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
    row["tokens_per_word"] = tokens_per_word(run, roots)
    if "perplexity" in row:
        row["perplexity"] **= row["tokens_per_word"]
    return row


def _speed_so_far(run: Path) -> Optional[float]:
    """Words per second of an unfinished run, if it has two checkpoints."""
    checkpoints = find_checkpoints(run) if (run / "config.json").exists() else []
    if not checkpoints:
        return None
    text = run.parent.parent / "train"
    words, updates = count_words_and_updates(read_json(run / "config.json"), 1, text)
    assert updates, "find_checkpoints requires `batches_per_epoch`, so the updates are known"
    return words / updates * checkpoints[0].updates / checkpoints[0].seconds


def _last_epoch(run: Path, metrics: Row) -> int:
    """A run that was killed after its last epoch and resumed has no `epoch` metric."""
    if "epoch" in metrics:
        return metrics["epoch"]
    return max(int(file.stem.split("_")[-1]) for file in run.glob("metrics_epoch_*.json"))


def _task(file: Path, roots: Mapping[str, str]) -> List[Row]:
    """One row, or none if the run was not evaluated on the test data."""
    match = re.fullmatch(r"([^.]+)\.(\d+)\.(.+)", file.parent.name)
    if not match or match[1] not in METRICS:
        raise InvalidFileError(
            file.parent,
            "has another name than TASK.SEED.REPRESENTATION",
            f"Rename the directory; TASK is one of {', '.join(METRICS)}.",
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
            "config_hash": config_hash(read_json(file.parent / "config.json"), roots),
            "device": device_name(metrics),
            **read_sessions(file.parent),
        }
    ]


def _senteval(file: Path) -> Row:
    """The scores, in percent, of an output file of `allennlp senteval`."""
    results = read_json(file)
    try:
        scores = {task: result["score"] for task, result in sorted(results["tasks"].items())}
        return {"representation": file.stem, "average": results["average"], "scores": scores}
    except (KeyError, TypeError, AttributeError):
        raise InvalidFileError(
            file,
            "is not the output of `allennlp senteval`",
            "Give an object with `average` and `tasks`, each with a `score`.",
        ) from None


def _probe(run: Path) -> List[Row]:
    """One row for a short training of `make probe`, or none if not all has been measured."""
    kinds = ("cloze", "bc5cdr", "wnut17", "sst2")
    files = {kind: run.with_name(f"{run.name}.{kind}.json") for kind in kinds}
    if not all(file.exists() for file in files.values()):
        return []
    name, _, seed = run.name.rpartition(".")
    return [
        {
            "name": name,
            "corpus": run.parent.parent.name,
            "seed": int(seed),
            "cloze": read_json(files["cloze"])["rows"],
            "linear": {task: read_json(files[task]) for task in ("bc5cdr", "wnut17")},
            "sst2": read_json(files["sst2"])["tasks"]["SST-2"]["score"],
        }
    ]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    parser = argparse.ArgumentParser(prog="experiments.collect_results", description=__doc__)
    parser.add_argument("out", type=Path, help="the output directory of the Makefile")
    parser.add_argument("results", type=Path, help="a JSON file")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep the rows of runs that are in RESULTS.json but not in OUT",
    )
    args = parser.parse_args(arguments)
    try:
        previous = read_json(args.results) if args.keep and args.results.exists() else None
        results = collect_results(args.out)
        if previous is not None:
            results = merge_results(results, previous, name=str(args.results))
    except ConfigurationError as error:
        sys.exit(str(error))
    write_json(args.results, results)
    counts = ", ".join(f"{len(rows)} {key}" for key, rows in results.items())
    logger.info("%s: %s", args.results, counts)


if __name__ == "__main__":
    main()
