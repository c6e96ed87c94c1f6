"""Scores sentence vectors on SentEval's tasks."""

import logging
import time
from typing import Any, Dict, List, Mapping

import numpy

from allennlp_semfit.senteval import protocols
from allennlp_semfit.senteval.protocols import Labelled, Protocol
from allennlp_semfit.senteval.results_file import ResultsFile
from allennlp_semfit.senteval.sentence_vectors import SentenceVectors
from allennlp_semfit.senteval.tasks import TASKS, Example, TaskData

__all__ = ["describe_results", "run_tasks"]

logger = logging.getLogger(__name__)


def run_tasks(vectors: SentenceVectors, data: Mapping[str, TaskData], results: ResultsFile) -> None:
    """
    Scores vectors on the tasks that `results` does not have yet.

    # Parameters

    vectors : `SentenceVectors`
    data : `Mapping[str, TaskData]`
        By the names of the tasks.
    results : `ResultsFile`
        Gets each task's result when it is done.
    """
    folds, seed = results.contents["folds"], results.contents["seed"]
    for name, task_data in data.items():
        if name in results.contents["tasks"]:
            logger.info("%s: there already.", name)
            continue
        start = time.monotonic()
        protocol: Protocol = getattr(protocols, TASKS[name].protocol)
        outcome = protocol(_embed(vectors, task_data.splits), folds, seed)
        examples = [example for split in task_data.splits.values() for example in split]
        result: Dict[str, Any] = {
            "score": outcome.score,
            "dev_score": outcome.dev_score,
            "C": outcome.c,
            **({} if outcome.f1 is None else {"f1": outcome.f1}),
            "num_sentences": sum(len(example.sentences) for example in examples),
            # A relatedness is no class, but lies between two of five.
            "num_classes": len({int(example.label) for example in examples}),
            "seconds": round(time.monotonic() - start, 1),
        }
        results.add(name, result)
        logger.info("%s: %.2f, in %.1f seconds.", name, outcome.score, result["seconds"])


def describe_results(contents: Mapping[str, Any]) -> str:
    """
    # Parameters

    contents : `Mapping[str, Any]`
        Of a `ResultsFile`.

    # Returns

    `str`
        A table in Markdown.
    """
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


def _embed(vectors: SentenceVectors, splits: Mapping[str, List[Example]]) -> Dict[str, Labelled]:
    """The features of examples, each distinct sentence of which is embedded once."""
    distinct = {
        sentence: index
        for index, sentence in enumerate(
            dict.fromkeys(
                sentence
                for examples in splits.values()
                for example in examples
                for sentence in example.sentences
            )
        )
    }
    embedded = vectors(list(distinct))
    labelled = {}
    for split, examples in splits.items():
        rows = numpy.array([[distinct[each] for each in example.sentences] for example in examples])
        features = embedded[rows[:, 0]]
        if rows.shape[1] == 2:
            # What sentences have in common and where they differ, in any order.
            other = embedded[rows[:, 1]]
            features = numpy.concatenate([abs(features - other), features * other], axis=1)
        labels = numpy.array([example.label for example in examples])
        labelled[split] = Labelled(features, labels)
    return labelled
