"""Evaluates sentence vectors on SentEval's tasks."""

import logging
import time
from itertools import chain
from typing import Any, Dict, List, Mapping

import numpy

from allennlp_semfit.analysis.senteval import protocols
from allennlp_semfit.analysis.senteval.protocols import LabelledFeatures, Protocol
from allennlp_semfit.analysis.senteval.results_file import ResultsFile
from allennlp_semfit.analysis.senteval.sentence_vectors import SentenceVectors
from allennlp_semfit.analysis.senteval.tasks import TASKS, Example, Sentence, TaskData

__all__ = ["describe_results", "run_tasks"]

logger = logging.getLogger(__name__)


def run_tasks(vectors: SentenceVectors, data: Mapping[str, TaskData], results: ResultsFile) -> None:
    """
    Evaluates vectors on the tasks of `data` that `results` lacks, and adds each result to it.
    """
    folds, seed = results.contents["folds"], results.contents["seed"]
    for name, task_data in data.items():
        if name in results.contents["tasks"]:
            logger.info("%s: already evaluated.", name)
            continue
        start = time.monotonic()
        protocol: Protocol = getattr(protocols, TASKS[name].protocol)
        outcome = protocol(_embed(vectors, task_data.splits), folds, seed)
        examples = list(chain.from_iterable(task_data.splits.values()))
        result: Dict[str, Any] = {
            "score": outcome.score,
            "dev_score": outcome.dev_score,
            "C": outcome.c,
            **({} if outcome.f1 is None else {"f1": outcome.f1}),
            "num_sentences": sum(len(example.sentences) for example in examples),
            # A relatedness score lies between two classes.
            "num_classes": len({int(example.label) for example in examples}),
            "seconds": round(time.monotonic() - start, 1),
        }
        results.add(name, result)
        logger.info("%s: %.2f, in %.1f seconds.", name, outcome.score, result["seconds"])


def describe_results(contents: Mapping[str, Any]) -> str:
    """Formats the contents of a `ResultsFile` as a Markdown table."""
    lines = ["| task | score | held out | C | seconds |", "|---|---|---|---|---|"]
    for name, result in contents["tasks"].items():
        chosen = result["C"] if isinstance(result["C"], list) else [result["C"]]
        cells = (
            name,
            f"{result['score']:.2f}",
            f"{result['dev_score']:.2f}",
            " ".join(f"{c:g}" for c in sorted(set(chosen))),
            f"{result['seconds']:.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    if "average" in contents:
        seconds = sum(result["seconds"] for result in contents["tasks"].values())
        lines.append(f"| average | {contents['average']:.2f} | | | {seconds:.0f} |")
    return "\n".join(lines)


def _embed(
    vectors: SentenceVectors, splits: Mapping[str, List[Example]]
) -> Dict[str, LabelledFeatures]:
    """Computes the features of the examples. Each distinct sentence is embedded once."""
    distinct: Dict[Sentence, int] = {}
    for example in chain.from_iterable(splits.values()):
        for sentence in example.sentences:
            distinct.setdefault(sentence, len(distinct))
    embedded = vectors(list(distinct))
    labelled = {}
    for split, examples in splits.items():
        rows = numpy.array([[distinct[each] for each in example.sentences] for example in examples])
        features = embedded[rows[:, 0]]
        if rows.shape[1] == 2:
            # SentEval's features are symmetric in the two sentences.
            other = embedded[rows[:, 1]]
            features = numpy.concatenate([abs(features - other), features * other], axis=1)
        labels = numpy.array([example.label for example in examples])
        labelled[split] = LabelledFeatures(features, labels)
    return labelled
