"""
Adds the results of the finished runs of the Makefile to a JSON file, and the counts of the answers
in their test sentences to `RESULTS-sentences.npz`:

    python -m experiments.collect_results OUT RESULTS.json

Rows of the same runs are replaced. To start afresh, remove both files. Also tests whether one
representation scores higher than another, over seeds and test sentences.
"""

import operator
import sys
from itertools import product
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

import numpy

from allennlp_semfit.common.output import write_file
from experiments.json_files import read_json, write_json
from experiments.results import (
    LANGUAGES,
    METRICS,
    PAIRED_TASKS,
    base_model,
    f1,
    language_model_of,
    minutes_of,
    sort_representations,
)
from experiments.run_record import FILE_NAME

Row = Dict[str, Any]
NUM_RESAMPLES = 10_000


class Run(NamedTuple):
    """A group of answers of a task model."""

    task: str
    representation: str
    seed: int
    group: str


# From `experiments.sentence_scores`. Shape `(num_sentences, 3)`, of the same sentences in a task.
Counts = Mapping[Run, numpy.ndarray]

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
        row: Row = {"name": run.name, "corpus": run.parent.parent.name, **_record(run)}
        words = row.pop("tokens")
        rows.append({**row, "words_read": words, "words_per_second": words / row["seconds"]})
    # `elmo-15min` is the reference of `elmo_semfit-15min`.
    speeds = {(row["corpus"], row["name"]): row["words_per_second"] for row in rows}
    for row in rows:
        reference = row["name"].replace(base_model(row["name"]), "elmo", 1)
        elmo = speeds.get((row["corpus"], reference))
        row["speed_up"] = round(row["words_per_second"] / elmo, 3) if elmo else None
    return rows


def _task(run: Path) -> Row:
    task, representation = run.name.split(".")
    score = 100 * read_json(run / "metrics.json")[METRICS[task]]
    return {"task": task, "representation": representation, "score": score, **_record(run)}


def _senteval(file: Path) -> Row:
    """The scores in an output file of `experiments.senteval`."""
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


def _pairs(representations: Iterable[str]) -> Iterator[Tuple[str, str]]:
    """
    Our language models, with fastText and with all that come before them in the tables and were
    trained for as many minutes. Those without minutes are compared with all. `NAME_fasttext` is
    compared with its parts only.
    """
    names = [name for name in sort_representations(representations) if name != "none"]
    for position, name in enumerate(names):
        base, language_model = base_model(name), language_model_of(base_model(name))
        for other in names[:position] if base.startswith("elmo_semfit") else []:
            is_as_long = other == "fasttext" or minutes_of(name) in (0, minutes_of(other))
            is_part = base_model(other) in ("fasttext", language_model)
            if is_as_long and base_model(other) != base and (is_part or base == language_model):
                yield name, other


def resample_scores(counts: Sequence[numpy.ndarray], *, seed: int) -> numpy.ndarray:
    """
    The scores of runs on all sentences, then on resamples of them, the same for all runs. Shape
    `(num_runs, 1 + NUM_RESAMPLES)`.
    """
    random = numpy.random.default_rng(seed)
    # Shape (num_sentences, num_runs, 3)
    stacked = numpy.stack(counts, axis=1).astype(numpy.float64)
    size = len(stacked)
    flat = stacked.reshape(size, -1)
    draws = (random.integers(size, size=size) for _ in range(NUM_RESAMPLES))
    resampled = (numpy.bincount(draw, minlength=size) @ flat for draw in draws)
    sums = [flat.sum(0), *resampled]
    return f1(numpy.reshape(sums, (-1, *stacked.shape[1:]))).T


def compare(tasks: Sequence[Mapping[int, numpy.ndarray]]) -> Dict[str, Any]:
    """
    The mean difference of tasks with its 95 % interval, of percentiles (Efron and Tibshirani 1993,
    section 13.3). `tasks` has the differences of two scores from `resample_scores`, by seed. Only
    seeds of all tasks count.

    Each resample also draws seeds, the same for all tasks, whose runs with a seed share their
    language model. Of n seeds it draws n - 1, so that the variance between them is unbiased (Rao
    and Wu 1988). With two or three seeds the interval is still too narrow, and with one it is that
    of the sentences alone.
    """
    seeds = sorted(set.intersection(*map(set, tasks)))
    # Shape (num_seeds, 1 + NUM_RESAMPLES)
    differences = numpy.mean([[task[each] for each in seeds] for task in tasks], axis=0)
    resampled = differences[:, 1:]
    random = numpy.random.default_rng(1)
    drawn = random.integers(len(seeds), size=(max(1, len(seeds) - 1), resampled.shape[1]))
    low, high = numpy.percentile(
        numpy.take_along_axis(resampled, drawn, axis=0).mean(0), [2.5, 97.5]
    )
    mean = differences[:, 0].mean()
    return {"mean": float(mean), "low": float(low), "high": float(high), "seeds": len(seeds)}


def evaluate_claims(counts: Counts) -> List[Dict[str, Any]]:
    """A row for each comparison of which all tasks have runs with a common seed."""
    scores: Dict[Run, numpy.ndarray] = {}
    for number, task in enumerate(sorted({run.task for run in counts}), start=1):
        runs = [run for run in counts if run.task == task]
        scores.update(zip(runs, resample_scores([counts[run] for run in runs], seed=number)))
    tests: List[Tuple[Tuple[str, ...], str]]
    tests = [((task,), "all") for task in (*PAIRED_TASKS, *LANGUAGES)]
    tests += [(PAIRED_TASKS, "all"), (("bc5cdr",), "oov")]
    rows: List[Dict[str, Any]] = []
    for (name, other), (tasks, group) in product(_pairs({run[1] for run in counts}), tests):
        differences = [
            {
                run.seed: scores[run] - scores[reference]
                for run in scores
                if (run.task, run.representation, run.group) == (task, name, group)
                and (reference := run._replace(representation=other)) in scores
            }
            for task in tasks
        ]
        if set.intersection(*map(set, differences)):
            row = {"representation": name, "other": other, "tasks": list(tasks), "group": group}
            rows.append({**row, **compare(differences)})
    return rows


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
