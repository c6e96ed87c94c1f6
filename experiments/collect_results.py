"""
Adds the results of the finished runs of the Makefile to a JSON file, and the counts of the answers
in their test sentences to `RESULTS-sentences.npz`:

    python -m experiments.collect_results OUT RESULTS.json

Rows of the same runs are replaced. To start afresh, remove both files.
"""

import operator
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence

import numpy

from allennlp_semfit.common.output import write_file
from experiments.claims import Counts, Run, evaluate_claims
from experiments.json_files import read_json, write_json
from experiments.results import LANGUAGES, METRICS, base_model, f1
from experiments.run_record import FILE_NAME

Row = Dict[str, Any]

# The kinds of results, and the keys by which their rows are replaced.
_IDENTITY = {
    "language_models": ("corpus", "name", "seed"),
    "tasks": ("task", "representation", "seed"),
    "groups": ("task", "representation", "seed", "group"),
    "senteval": ("representation",),
    "embedding_speed": ("label",),
    "claims": ("representation", "other", "tasks", "group"),
}


def collect_results(out: Path) -> Dict[str, List[Row]]:
    """The rows of the directory `OUT` of the Makefile. Times are in seconds, scores in percent."""
    models, tasks = (
        [file.parent for file in sorted(out.glob(f"{kind}/done"))]
        for kind in ("*/models/*", "tasks/*")
    )
    speeds = out / "embedding_speed.json"
    return {
        "language_models": _language_models(models),
        "tasks": [_task(run) for run in tasks],
        "senteval": [_senteval(file) for file in sorted(out.glob("senteval/*.json"))],
        "embedding_speed": read_json(speeds)["rows"] if speeds.exists() else [],
    }


def collect_counts(out: Path) -> Dict[Run, numpy.ndarray]:
    counts = {}
    for file in sorted(out.glob("sentences/*.npz")):
        task, representation = file.stem.split(".")
        seed = _seed_of(out / "tasks" / file.stem)
        with numpy.load(file) as groups:
            for group in groups:
                counts[Run(task, representation, seed, group)] = groups[group]
    return counts


def _groups(counts: Counts) -> List[Row]:
    """The scores of groups of entities."""
    return [
        {**run._asdict(), "f1": float(f1(rows.sum(0))), "annotated": int(rows.sum(0)[0])}
        for run, rows in counts.items()
        if run.task in ("bc5cdr", *LANGUAGES)
    ]


def _record(run: Path) -> Row:
    """What a training with AllenNLP recorded."""
    return {"seed": _seed_of(run), **read_json(run / FILE_NAME)}


def _seed_of(run: Path) -> int:
    return read_json(run / "config.json")["random_seed"]


def _language_models(runs: Sequence[Path]) -> List[Row]:
    rows: List[Row] = []
    for run in runs:
        row: Row = {"name": run.name, "corpus": run.parent.parent.name}
        # Some models of other packages also have a `config.json`.
        if not (run / "metrics.json").exists():
            rows.append({**read_json(run / FILE_NAME), **row})
            continue
        row.update(_record(run))
        words = row.pop("tokens")
        rows.append({**row, "words_read": words, "words_per_second": words / row["seconds"]})
    # `elmo-15min` is the reference of `elmo_semfit-15min`.
    speeds = {(row["corpus"], row["name"]): row.get("words_per_second") for row in rows}
    for row in rows:
        reference = row["name"].replace(base_model(row["name"]), "elmo", 1)
        speed, elmo = row.get("words_per_second"), speeds.get((row["corpus"], reference))
        row["speed_up"] = round(speed / elmo, 3) if speed and elmo else None
    return rows


def _task(run: Path) -> Row:
    task, representation = run.name.split(".")
    score = 100 * read_json(run / "metrics.json")[METRICS[task]]
    return {"task": task, "representation": representation, "score": score, **_record(run)}


def _senteval(file: Path) -> Row:
    """The scores in an output file of `allennlp senteval`."""
    results = read_json(file)
    scores = {task: result["score"] for task, result in sorted(results["tasks"].items())}
    return {"representation": file.stem, "average": results["average"], "scores": scores}


def merge_results(new: Dict[str, List[Row]], previous: Dict[str, List[Row]]) -> Dict[str, Any]:
    """The rows of `previous` that `new` does not have, and all rows of `new`."""
    merged = {}
    for kind, rows in new.items():
        identity = operator.itemgetter(*_IDENTITY[kind])
        found = list(map(identity, rows))
        merged[kind] = [row for row in previous.get(kind, []) if identity(row) not in found] + rows
    return merged


def _read_counts(file: Path) -> Dict[Run, numpy.ndarray]:
    counts = {}
    if file.exists():
        with numpy.load(file) as arrays:
            for key in (key for key in arrays if not key.endswith(".runs")):
                task, group = key.split(".")
                for run, rows in zip(arrays[f"{key}.runs"], arrays[key].T):
                    representation, seed = run.split(".")
                    counts[Run(task, representation, int(seed), group)] = rows
    return counts


def _write_counts(file: Path, counts: Counts) -> None:
    arrays = {}
    for task, group in sorted({(run.task, run.group) for run in counts}):
        runs = sorted(run for run in counts if (run.task, run.group) == (task, group))
        # Side by side, the counts of a sentence take a third of the space.
        arrays[f"{task}.{group}"] = numpy.stack([counts[run].T for run in runs], axis=-1)
        arrays[f"{task}.{group}.runs"] = numpy.array(
            [f"{run.representation}.{run.seed}" for run in runs]
        )
    with write_file(file) as part:
        numpy.savez_compressed(part, allow_pickle=False, **arrays)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, file = map(Path, sys.argv[1:])
    counts_file = file.with_name(f"{file.stem}-sentences.npz")
    counts = collect_counts(out)
    results = {**collect_results(out), "groups": _groups(counts)}
    # What the paired tests read.
    counts = {run: counts[run] for run in counts if run.group in ("all", "oov")}
    counts = {**_read_counts(counts_file), **counts}
    results["claims"] = evaluate_claims(counts)
    write_json(file, merge_results(results, read_json(file) if file.exists() else {}))
    _write_counts(counts_file, counts)


if __name__ == "__main__":
    main()
