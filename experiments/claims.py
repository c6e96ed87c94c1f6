"""
Tests whether one representation scores higher than another, over seeds and test sentences:

    python -m experiments.claims OUT.json SENTENCES.npz…

The files are from `experiments.sentence_scores`. `CLAIMS` has the comparisons; those without files
are left out, and those with one seed have an interval but no verdict.
"""

import logging
import sys
from itertools import product
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

import numpy
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import InvalidFileError
from experiments.json_files import write_json
from experiments.results import (
    LANGUAGES,
    base_model,
    minutes_of,
    parse_run_name,
    sort_representations,
)
from experiments.sentence_scores import f1

__all__ = [
    "CLAIMS",
    "Claim",
    "Difference",
    "evaluate_claims",
    "paired_bootstrap",
    "timed_claims",
    "verdict",
]

NUM_RESAMPLES = 10_000
# Resamples per matrix product, which limits its memory.
_CHUNK = 500

logger = logging.getLogger("experiments")


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


_PAIRED_TASKS = ("snli", "ner", "srl", "bc5cdr")
_OURS = ("elmo_semfit", "elmo_semfit_contrastive")


def _claims() -> Iterator[Claim]:
    for name in _OURS:
        for task in (*_PAIRED_TASKS, *LANGUAGES):
            yield Claim(name, "fasttext", (task,))
        for task in _PAIRED_TASKS:
            yield Claim(name, "elmo_adaptive", (task,))
        yield Claim(name, "elmo_adaptive", _PAIRED_TASKS)
        yield Claim(name, "elmo_adaptive", ("bc5cdr",), "oov")


CLAIMS = list(_claims())


def timed_claims(representations: Iterable[str]) -> Iterator[Claim]:
    """Our models of so many minutes, compared with all others of as many, on each task."""
    timed = [name for name in sort_representations(representations) if minutes_of(name)]
    ours = [name for name in timed if base_model(name) in _OURS]
    for name, other in product(ours, timed):
        if other not in ours and minutes_of(name) == minutes_of(other):
            for task in _PAIRED_TASKS:
                yield Claim(name, other, (task,))
            yield Claim(name, other, _PAIRED_TASKS)


# The counts of each seed's run, shape `(num_sentences, 3)`.
Runs = Mapping[int, numpy.ndarray]


class Difference(NamedTuple):
    """A difference in points, with the 95 % confidence interval of the bootstrap."""

    mean: float
    low: float
    high: float


def paired_bootstrap(
    pairs: Sequence[Tuple[Runs, Runs]], *, num_resamples: int = NUM_RESAMPLES, seed: int = 1
) -> Difference:
    """
    The difference of two representations in the mean score of tasks. Each resample draws, with
    replacement, the seeds and the sentences of each task, the same for both representations (Efron
    and Tibshirani 1993, section 13.3: percentiles). Of n seeds it draws n - 1, so that the variance
    between them is unbiased (Rao and Wu 1988, with a resample size of n - 1). With two or three
    seeds the interval is still too narrow, and with one it is that of the sentences alone.

    # Parameters

    pairs : `Sequence[Tuple[Mapping[int, numpy.ndarray], Mapping[int, numpy.ndarray]]]`
        For each task the counts of the one and of the other representation, by seed. Only seeds
        of both count.
    num_resamples : `int`, optional (default = `10_000`)
    seed : `int`, optional (default = `1`)
        Of the resampling.
    """
    random = numpy.random.default_rng(seed)
    means, resampled = [], []
    for runs, others in pairs:
        seeds = sorted(set(runs) & set(others))
        # Shape (num_sentences, num_seeds, 2, 3)
        counts = numpy.stack(
            [numpy.stack([runs[each], others[each]], axis=1) for each in seeds], axis=1
        ).astype(numpy.float64)
        means.append(_differences(counts.sum(0)).mean())
        resampled.append(_resample(counts, num_resamples, random))
    low, high = numpy.percentile(numpy.mean(resampled, axis=0), [2.5, 97.5])
    return Difference(float(numpy.mean(means)), float(low), float(high))


def _differences(counts: numpy.ndarray) -> numpy.ndarray:
    """Shape `(…, 2, 3)` to `(…)`."""
    scores = f1(counts)
    return scores[..., 0] - scores[..., 1]


def _resample(
    counts: numpy.ndarray, num_resamples: int, random: numpy.random.Generator
) -> numpy.ndarray:
    num_sentences, num_seeds = counts.shape[:2]
    flat = counts.reshape(num_sentences, -1)
    found = []
    for start in range(0, num_resamples, _CHUNK):
        size = min(_CHUNK, num_resamples - start)
        drawn = random.multinomial(num_sentences, [1 / num_sentences] * num_sentences, size)
        sums = (drawn @ flat).reshape(size, *counts.shape[1:])
        seeds = random.integers(num_seeds, size=(size, max(1, num_seeds - 1)))
        found.append(numpy.take_along_axis(_differences(sums), seeds, axis=1).mean(1))
    return numpy.concatenate(found)


def verdict(difference: Difference) -> str:
    """`above` or `below` if the confidence interval does not contain 0."""
    if difference.low > 0:
        return "above"
    return "below" if difference.high < 0 else "not significant"


def evaluate_claims(files: Sequence[Path], claims: Sequence[Claim]) -> List[Dict[str, Any]]:
    """A row for each claim whose tasks have runs of both representations with a common seed."""
    runs: Dict[Tuple[str, str], Dict[int, Any]] = {}
    sizes: Dict[str, int] = {}
    for file in files:
        task, seed, representation = parse_run_name(file.with_suffix(""))
        with numpy.load(file) as counts:
            runs.setdefault((task, representation), {})[seed] = dict(counts)
            num_sentences = len(counts["all"])
        if num_sentences != sizes.setdefault(task, num_sentences):
            raise InvalidFileError(
                file,
                f"has {num_sentences} sentences, but another of the task has {sizes[task]}",
                "Remove both and run `make claims`.",
            )
    rows = []
    for claim in claims:
        pairs = [
            tuple(
                {
                    seed: counts[claim.group]
                    for seed, counts in runs.get((task, name), {}).items()
                    if claim.group in counts
                }
                for name in (claim.representation, claim.other)
            )
            for task in claim.tasks
        ]
        if all(set(one) & set(other) for one, other in pairs):
            difference = paired_bootstrap(pairs)  # type: ignore[arg-type]
            num_seeds = min(len(set(one) & set(other)) for one, other in pairs)
            rows.append(
                {
                    **claim._asdict(),
                    **difference._asdict(),
                    "seeds": num_seeds,
                    "verdict": verdict(difference) if num_seeds > 1 else "",
                }
            )
    return rows


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    if len(sys.argv) < 2:
        sys.exit("python -m experiments.claims OUT.json SENTENCES.npz…")
    try:
        files = [Path(name) for name in sys.argv[2:]]
        names = [parse_run_name(file.with_suffix("")).representation for file in files]
        rows = evaluate_claims(files, [*CLAIMS, *timed_claims(names)])
    except (ConfigurationError, OSError) as error:
        sys.exit(f"claims: {error}")
    write_json(Path(sys.argv[1]), rows)
    logger.info("%d claims in %s", len(rows), sys.argv[1])


if __name__ == "__main__":
    main()
