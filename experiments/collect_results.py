"""
Collects the results of all finished runs of the Makefile into one JSON file:

    python -m experiments.collect_results OUT RESULTS.json [--keep]
"""

import argparse
import hashlib
import json
import logging
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import read_json, write_json
from experiments.results import METRICS, parse_run_name
from experiments.run_record import FILE_NAME
from experiments.sentence_scores import f1

__all__ = ["Row", "collect_results", "config_hash", "merge_results"]

Row = Dict[str, Any]

# The kinds of results. Of earlier results, those with these keys are replaced.
_IDENTITY = {
    "language_models": ("corpus", "name"),
    "trainings": ("name", "minutes"),
    "tasks": ("task", "representation"),
    "groups": ("task", "representation"),
    "senteval": ("representation",),
    "cloze": ("corpus", "name"),
    "claims": ("representation", "other", "tasks", "group"),
}
_SEEDS = {"random_seed", "numpy_seed", "pytorch_seed"}

logger = logging.getLogger("experiments")


def collect_results(out: Path) -> Dict[str, List[Row]]:
    """
    # Parameters

    out : `Path`
        The output directory of the Makefile, `OUT`.

    # Returns

    `Dict[str, List[Dict[str, Any]]]`
        `language_models`, `trainings` of so many minutes, `tasks`, `groups` of entities in them,
        `senteval`, `cloze` and `claims`. Times are in seconds, scores in percent, perplexities per
        word.

    # Raises

    `InvalidFileError`
        If `out` contains no runs, or if a file in it is invalid.
    """
    runs, tasks = (
        [file.parent for file in sorted(out.glob(f"{kind}/done"))]
        for kind in ("*/models/*", "tasks/*")
    )
    if not runs and not tasks:
        raise InvalidFileError(
            out, "has no finished runs", "Give the OUT directory of `make -C experiments`."
        )
    claims = out / "claims.json"
    return {
        "language_models": _language_models(runs),
        "trainings": [
            *(_training(file) for file in sorted(out.glob(f"*/minutes/*/{FILE_NAME}"))),
            *(read_json(file) for file in sorted(out.glob(f"*/peers/*/{FILE_NAME}"))),
        ],
        "tasks": [_task(run) for run in tasks],
        "groups": [row for run in tasks for row in _groups(out / "sentences" / f"{run.name}.npz")],
        "senteval": [_senteval(file) for file in sorted(out.glob("senteval/*.json"))],
        "cloze": [
            {"name": file.stem, "corpus": file.parent.parent.name, **read_json(file)}
            for file in sorted(out.glob("*/cloze/*.json"))
        ],
        "claims": read_json(claims) if claims.exists() else [],
    }


def _record(run: Path) -> Row:
    config = read_json(run / "config.json")
    return {"config_hash": config_hash(config), **read_json(run / FILE_NAME)}


def config_hash(config: Dict[str, Any]) -> str:
    """Twelve hexadecimal digits that depend neither on the seeds nor on directories."""

    def without_directories(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_directories(item) for key, item in value.items()}
        if isinstance(value, list):
            return [without_directories(item) for item in value]
        is_path = isinstance(value, str) and value.startswith("/")
        return Path(value).name if is_path else value

    general = without_directories({k: v for k, v in config.items() if k not in _SEEDS})
    canonical = json.dumps(general, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _language_models(runs: Sequence[Path]) -> List[Row]:
    rows = [_language_model(run) for run in runs]
    # The held-out words of each corpus, counted by a model without subwords.
    num_words = {
        row["corpus"]: row["validation_tokens"] for row in rows if not row.pop("has_subwords")
    }
    for row in rows:
        words = num_words.get(row["corpus"])
        if not words:
            row.pop("perplexity", None)
            continue
        tokens_per_word = row["validation_tokens"] / words
        row["tokens_per_word"] = round(tokens_per_word, 4)
        row["words_per_second"] = round(row["tokens"] / tokens_per_word / row["seconds"], 1)
        if "perplexity" in row:
            row["perplexity"] **= tokens_per_word
    speeds = {row["corpus"]: row.get("words_per_second") for row in rows if row["name"] == "elmo"}
    for row in rows:
        speed, elmo = row.get("words_per_second"), speeds.get(row["corpus"])
        row["speed_up"] = round(speed / elmo, 3) if speed and elmo else None
    return rows


def _language_model(run: Path) -> Row:
    metrics = read_json(run / "metrics.json")
    reader = read_json(run / "config.json")["dataset_reader"]
    name, _, seed = run.name.partition(".")
    return {
        "name": name,
        "seed": int(seed or 1),
        "corpus": run.parent.parent.name,
        **_record(run),
        "has_subwords": "tokenizer" in reader,
        **{
            metric: metrics[f"best_validation_{metric}"]
            for metric in ("cosine", "baseline_cosine", "perplexity")
            if f"best_validation_{metric}" in metrics
        },
    }


def _training(file: Path) -> Row:
    name, _, minutes = file.parent.name.partition(".")
    record = read_json(file)
    return {"name": name, "minutes": int(minutes), "words_read": record["tokens"], **record}


def _task(run: Path) -> Row:
    name = parse_run_name(run)
    metric = METRICS[name.task]
    score = 100 * read_json(run / "metrics.json")[metric]
    return {**name._asdict(), "metric": metric, "score": score, **_record(run)}


def _groups(file: Path) -> Iterator[Row]:
    if not file.exists():
        return
    name = parse_run_name(file.with_suffix(""))
    with numpy.load(file) as counts:
        for group in counts:
            if len(counts) > 1:
                total = counts[group].sum(0)
                yield {
                    **name._asdict(),
                    "group": group,
                    "f1": float(f1(total)),
                    "annotated": int(total[0]),
                }


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


def merge_results(
    results: Dict[str, List[Row]], previous: Any, *, name: str
) -> Dict[str, List[Row]]:
    """
    The rows of `previous` that `results` does not have, and all rows of `results`. The groups of
    tasks that were run again are not kept.

    # Raises

    `InvalidFileError`
        If `previous`, the content of the file `name`, has another form.
    """
    merged = {}
    try:
        for kind, keys in _IDENTITY.items():
            rows = results["tasks" if kind == "groups" else kind]
            new = {_values(row, keys) for row in rows}
            kept = [row for row in previous.get(kind, []) if _values(row, keys) not in new]
            merged[kind] = kept + results[kind]
    except (AttributeError, KeyError, TypeError):
        raise InvalidFileError(
            name,
            "is not the output of experiments.collect_results",
            "Give another file, or omit --keep.",
        ) from None
    return merged


def _values(row: Row, keys: Sequence[str]) -> Tuple[str, ...]:
    return tuple(str(row[key]) for key in keys)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    parser = argparse.ArgumentParser(prog="experiments.collect_results", description=__doc__)
    parser.add_argument("out", type=Path, help="the output directory of the Makefile")
    parser.add_argument("results", type=Path, help="a JSON file")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep the rows of RESULTS.json for which OUT has no runs",
    )
    args = parser.parse_args(arguments)
    try:
        results = collect_results(args.out)
        if args.keep and args.results.exists():
            results = merge_results(results, read_json(args.results), name=str(args.results))
    except ConfigurationError as error:
        sys.exit(f"collect_results: {error}")
    write_json(args.results, results)
    counts = ", ".join(f"{len(rows)} {key}" for key, rows in results.items())
    logger.info("%s: %s", args.results, counts)


if __name__ == "__main__":
    main()
