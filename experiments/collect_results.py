"""
Collects the results of all finished runs of the Makefile into one JSON file, and the counts of the
answers in their test sentences into `RESULTS-sentences.npz`:

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
from allennlp_semfit.common.output import write_file
from experiments.claims import Claim, Run, claims_about, evaluate_claims
from experiments.json_files import read_json, write_json
from experiments.results import METRICS, base_model, parse_run_name
from experiments.run_record import FILE_NAME
from experiments.sentence_scores import f1

__all__ = ["Counts", "Row", "collect_counts", "collect_results", "config_hash", "merge_results"]

Row = Dict[str, Any]
# Shape `(num_sentences, 3)`
Counts = Dict[Run, numpy.ndarray]

# The kinds of results. Of earlier results, those with these keys are replaced.
_IDENTITY = {
    "language_models": ("corpus", "name", "seed"),
    "tasks": ("task", "representation", "seed"),
    "groups": ("task", "representation", "seed"),
    "senteval": ("representation",),
    "embedding_speed": ("label",),
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
        `language_models` (with those of other packages), `tasks`, `senteval` and
        `embedding_speed`. Times are in seconds, scores in percent.

    # Raises

    `InvalidFileError`
        If `out` contains no runs, or if a file in it is invalid.
    """
    models, tasks = (
        [file.parent for file in sorted(out.glob(f"{kind}/done"))]
        for kind in ("*/models/*", "tasks/*")
    )
    if not models and not tasks:
        raise InvalidFileError(
            out, "has no finished runs", "Give the OUT directory of `make -C experiments`."
        )
    return {
        "language_models": _language_models(models),
        "tasks": [_task(run) for run in tasks],
        "senteval": [_senteval(file) for file in sorted(out.glob("senteval/*.json"))],
        "embedding_speed": [
            row for file in out.glob("embedding_speed.json") for row in read_json(file)["rows"]
        ],
    }


def collect_counts(out: Path) -> Counts:
    """
    # Parameters

    out : `Path`
        The output directory of the Makefile, `OUT`.

    # Returns

    `Dict[Run, numpy.ndarray]`
        The counts of `experiments.sentence_scores`. Shape `(num_sentences, 3)`.
    """
    counts = {}
    for file in sorted(out.glob("sentences/*.npz")):
        name = parse_run_name(file.with_suffix(""))
        seed = _seed_of(out / "tasks" / file.stem)
        with numpy.load(file) as groups:
            for group in groups:
                counts[Run(*name, seed, group)] = groups[group]
    return counts


def _seed_of(run: Path) -> int:
    return int(read_json(run / "config.json")["random_seed"])


def _groups(counts: Counts) -> Iterator[Row]:
    """The scores of groups of entities, of tasks that have some."""
    tasks = {run.task for run in counts if run.group != "all"}
    for run, each in counts.items():
        if run.task in tasks:
            total = each.sum(0)
            yield {**run._asdict(), "f1": float(f1(total)), "annotated": int(total[0])}


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
    # Some models of other packages also have a `config.json`.
    rows = [_language_model(run) if (run / "metrics.json").exists() else _peer(run) for run in runs]
    # `elmo-15min` is the reference of `elmo_semfit-15min`.
    speeds = {(row["corpus"], row["name"]): row.get("words_per_second") for row in rows}
    for row in rows:
        reference = row["name"].replace(base_model(row["name"]), "elmo", 1)
        speed, elmo = row.get("words_per_second"), speeds.get((row["corpus"], reference))
        row["speed_up"] = round(speed / elmo, 3) if speed and elmo else None
    return rows


def _language_model(run: Path) -> Row:
    metrics = read_json(run / "metrics.json")
    record = _record(run)
    return {
        "name": run.name,
        "seed": _seed_of(run),
        "corpus": run.parent.parent.name,
        **record,
        "words_read": record["tokens"],
        "words_per_second": round(record["tokens"] / record["seconds"], 1),
        **{
            metric: metrics[f"best_validation_{metric}"]
            for metric in ("cosine", "baseline_cosine", "perplexity")
            if f"best_validation_{metric}" in metrics
        },
    }


def _peer(run: Path) -> Row:
    return {**read_json(run / FILE_NAME), "name": run.name, "corpus": run.parent.parent.name}


def _task(run: Path) -> Row:
    name = parse_run_name(run)
    metric = METRICS[name.task]
    score = 100 * read_json(run / "metrics.json")[metric]
    seed = _seed_of(run)
    return {**name._asdict(), "seed": seed, "metric": metric, "score": score, **_record(run)}


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
    The rows of `previous` that `results` does not have, and all rows of `results`.

    # Raises

    `InvalidFileError`
        If `previous`, the content of the file `name`, has another form.
    """
    merged = {}
    try:
        for kind, keys in _IDENTITY.items():
            new = {_values(row, keys) for row in results[kind]}
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


def _counts_of(claims: Sequence[Claim], counts: Counts) -> Counts:
    wanted = {
        (task, name, claim.group)
        for claim in claims
        for task in claim.tasks
        for name in (claim.representation, claim.other)
    }
    return {
        run: each
        for run, each in counts.items()
        if (run.task, run.representation, run.group) in wanted
    }


def _read_counts(file: Path) -> Counts:
    if not file.exists():
        return {}
    counts = {}
    with numpy.load(file) as arrays:
        for key in arrays:
            task, representation, seed, group = key.split(".")
            counts[Run(task, representation, int(seed), group)] = arrays[key]
    return counts


def _write_counts(file: Path, counts: Counts) -> None:
    arrays = {".".join(map(str, run)): each for run, each in sorted(counts.items())}
    with write_file(file) as part:
        numpy.savez_compressed(part, allow_pickle=False, **arrays)


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
    counts_file = args.results.with_name(f"{args.results.stem}-sentences.npz")
    try:
        results = collect_results(args.out)
        counts = collect_counts(args.out)
        results["groups"] = list(_groups(counts))
        if args.keep:
            counts = {**_read_counts(counts_file), **counts}
        claims = list(claims_about({run.representation for run in counts}))
        results["claims"] = evaluate_claims(counts, claims)
        if args.keep and args.results.exists():
            results = merge_results(results, read_json(args.results), name=str(args.results))
    except ConfigurationError as error:
        sys.exit(f"collect_results: {error}")
    write_json(args.results, results)
    _write_counts(counts_file, _counts_of(claims, counts))
    numbers = ", ".join(f"{len(rows)} {key}" for key, rows in results.items())
    logger.info("%s: %s", args.results, numbers)


if __name__ == "__main__":
    main()
