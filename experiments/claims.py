"""Tests whether one representation scores higher than another, over seeds and test sentences."""

from itertools import product
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

import numpy

from experiments.results import (
    LANGUAGES,
    PAIRED_TASKS,
    base_model,
    f1,
    language_model_of,
    minutes_of,
    sort_representations,
)

NUM_RESAMPLES = 10_000


class Run(NamedTuple):
    """A group of answers of a task model."""

    task: str
    representation: str
    seed: int
    group: str


# From `experiments.sentence_scores`. Shape `(num_sentences, 3)`, of the same sentences in a task.
Counts = Mapping[Run, numpy.ndarray]


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
