"""Tests whether one representation scores higher than another, over seeds and test sentences."""

from itertools import product
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

import numpy

from experiments.results import (
    LANGUAGES,
    OURS,
    PAIRED_TASKS,
    base_model,
    minutes_of,
    sort_representations,
)
from experiments.sentence_scores import f1

__all__ = [
    "Claim",
    "Difference",
    "Run",
    "claims_about",
    "compare",
    "evaluate_claims",
    "resample_scores",
    "verdict",
]

NUM_RESAMPLES = 10_000
# Resamples per matrix product, which limits its memory.
_CHUNK = 500


class Claim(NamedTuple):
    """
    # Parameters

    representation : `str`
    other : `str`
        The representation that it is compared with.
    tasks : `Tuple[str, ...]`
        The difference is the mean of theirs.
    group : `str`
        One of the groups of `experiments.sentence_scores`.
    """

    representation: str
    other: str
    tasks: Tuple[str, ...]
    group: str = "all"


class Run(NamedTuple):
    """A group of answers of a task model."""

    task: str
    representation: str
    seed: int
    group: str


class Difference(NamedTuple):
    """A difference in points, with the 95 % confidence interval of the bootstrap."""

    mean: float
    low: float
    high: float


def claims_about(representations: Iterable[str]) -> Iterator[Claim]:
    """
    Our language models, compared with fastText and with all that come before them in the tables
    and were trained for as many minutes.
    """
    names = [name for name in sort_representations(representations) if name != "none"]
    ours = [name for name in names if base_model(name) in OURS]
    for name, other in product(ours, names):
        is_before = names.index(other) < names.index(name) and base_model(other) != base_model(name)
        is_as_long = other == "fasttext" or minutes_of(other) == minutes_of(name)
        if is_before and is_as_long:
            for task in (*PAIRED_TASKS, *LANGUAGES):
                yield Claim(name, other, (task,))
            yield Claim(name, other, PAIRED_TASKS)
            yield Claim(name, other, ("bc5cdr",), "oov")


def resample_scores(
    counts: Sequence[numpy.ndarray], *, num_resamples: int = NUM_RESAMPLES, seed: int = 1
) -> numpy.ndarray:
    """
    The scores of runs on the same sentences. Each resample draws sentences with replacement, the
    same for all runs.

    # Parameters

    counts : `Sequence[numpy.ndarray]`
        The counts of each run, from `experiments.sentence_scores`. Shape `(num_sentences, 3)`.
    num_resamples : `int`, optional (default = `10_000`)
    seed : `int`, optional (default = `1`)

    # Returns

    `numpy.ndarray`
        Shape `(num_runs, 1 + num_resamples)`. The first score is that of all sentences.
    """
    random = numpy.random.default_rng(seed)
    # Shape (num_sentences, num_runs, 3)
    stacked = numpy.stack(counts, axis=1).astype(numpy.float64)
    num_sentences = len(stacked)
    flat = stacked.reshape(num_sentences, -1)
    sums = [flat.sum(0, keepdims=True)]
    for start in range(0, num_resamples, _CHUNK):
        size = min(_CHUNK, num_resamples - start)
        drawn = random.integers(num_sentences, size=(size, num_sentences))
        drawn += num_sentences * numpy.arange(size)[:, None]
        weights = numpy.bincount(drawn.ravel(), minlength=size * num_sentences)
        sums.append(weights.reshape(size, num_sentences) @ flat)
    return f1(numpy.concatenate(sums).reshape(-1, *stacked.shape[1:])).T


def compare(tasks: Sequence[Mapping[int, numpy.ndarray]], *, seed: int = 1) -> Difference:
    """
    The mean difference of tasks and its percentiles (Efron and Tibshirani 1993, section 13.3). Each
    resample also draws seeds, the same for all tasks, whose runs with a seed share their language
    model. Of n seeds it draws n - 1, so that the variance between them is unbiased (Rao and Wu
    1988, with a resample size of n - 1). With two or three seeds the interval is still too narrow,
    and with one it is that of the sentences alone.

    # Parameters

    tasks : `Sequence[Mapping[int, numpy.ndarray]]`
        For each task the difference of two scores from `resample_scores`, by seed. Only seeds of
        all tasks count.
    seed : `int`, optional (default = `1`)
        Of the resampling.
    """
    seeds = sorted(set.intersection(*map(set, tasks)))
    # Shape (num_seeds, 1 + num_resamples)
    differences = numpy.mean([[task[each] for each in seeds] for task in tasks], axis=0)
    observed, resampled = differences[:, 0], differences[:, 1:]
    random = numpy.random.default_rng(seed)
    drawn = random.integers(len(seeds), size=(max(1, len(seeds) - 1), resampled.shape[1]))
    means = numpy.take_along_axis(resampled, drawn, axis=0).mean(0)
    low, high = numpy.percentile(means, [2.5, 97.5])
    return Difference(float(observed.mean()), float(low), float(high))


def verdict(difference: Difference) -> str:
    """`above` or `below` if the confidence interval does not contain 0."""
    if difference.low > 0:
        return "above"
    return "below" if difference.high < 0 else "not significant"


def evaluate_claims(
    counts: Mapping[Run, numpy.ndarray], claims: Iterable[Claim]
) -> List[Dict[str, Any]]:
    """
    A row for each claim whose tasks have runs of both representations with a common seed.

    # Parameters

    counts : `Mapping[Run, numpy.ndarray]`
        Shape `(num_sentences, 3)`. All runs of a task have the same sentences.
    claims : `Iterable[Claim]`

    # Returns

    `List[Dict[str, Any]]`
        The fields of the `Claim` and of its `Difference`, the number of `seeds`, and the `verdict`
        if there is more than one.
    """
    scores: Dict[Run, numpy.ndarray] = {}
    for number, task in enumerate(sorted({run.task for run in counts}), start=1):
        runs = [run for run in counts if run.task == task]
        resampled = resample_scores([counts[run] for run in runs], seed=number)
        scores.update(zip(runs, resampled))
    rows = []
    for claim in claims:
        tasks = [
            {
                run.seed: scores[run] - scores[run._replace(representation=claim.other)]
                for run in scores
                if (run.task, run.representation, run.group)
                == (task, claim.representation, claim.group)
                and run._replace(representation=claim.other) in scores
            }
            for task in claim.tasks
        ]
        num_seeds = len(set.intersection(*map(set, tasks)))
        if num_seeds:
            difference = compare(tasks)
            rows.append(
                {
                    **claim._asdict(),
                    "tasks": list(claim.tasks),
                    **difference._asdict(),
                    "seeds": num_seeds,
                    "verdict": verdict(difference) if num_seeds > 1 else "",
                }
            )
    return rows
