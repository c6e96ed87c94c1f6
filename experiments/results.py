"""What the runs of the Makefile are called, and look-ups in their collected results."""

import re
import statistics
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional

import numpy

__all__ = [
    "GROUPS",
    "LANGUAGES",
    "METRICS",
    "OURS",
    "PAIRED_TASKS",
    "REPRESENTATIONS",
    "TASKS",
    "Representation",
    "Results",
    "base_model",
    "f1",
    "language_model_of",
    "mean_score",
    "minutes_of",
    "sort_representations",
    "title_of",
]

# From `experiments.collect_results`.
Results = Mapping[str, List[Dict[str, Any]]]


class Representation(NamedTuple):
    """What tables and plots show of a word representation."""

    title: str
    colour: str = "#999999"
    marker: str = "."


# In the order of tables and legends; others follow. The colours are of Paul Tol's muted and vibrant
# schemes, which are safe for colour-blind readers.
REPRESENTATIONS = {
    "none": Representation("none", "#999999", "x"),
    "fasttext": Representation("fastText", "#000000", "+"),
    "word2vec": Representation("word2vec", "#999999", "."),
    "flair": Representation("flair", "#882255", "v"),
    "bert": Representation("BERT, small", "#44AA99", "^"),
    "electra": Representation("ELECTRA, small", "#88CCEE", "P"),
    "elmo": Representation("ELMo", "#CC6677", "s"),
    "elmo_adaptive": Representation("ELMo-A", "#DDAA33", "D"),
    "elmo_semfit": Representation("ELMo-S", "#332288", "o"),
    "elmo_semfit_contrastive": Representation("ELMo-S, contrastive head", "#EE7733", "h"),
    "elmo_semfit_fasttext": Representation("ELMo-S + fastText"),
    "elmo_semfit_contrastive_fasttext": Representation("ELMo-S, contrastive head + fastText"),
}
# Those that claims are about.
OURS = tuple(name for name in REPRESENTATIONS if name.startswith("elmo_semfit"))
# The tasks of the tables.
TASKS = ("snli", "coref", "sst5", "ner", "srl", "bc5cdr")
# Those of the paired tests, whose mean is compared.
PAIRED_TASKS = ("snli", "ner", "srl", "bc5cdr")
# Languages with little text: corpora, and NER in them.
LANGUAGES = {"yor": "Yoruba", "wol": "Wolof"}
# The metric of each task in the `metrics.json` of a run.
METRICS = {
    "snli": "test_accuracy",
    "coref": "test_coref_f1",
    "sst5": "test_accuracy",
    **dict.fromkeys(["ner", "srl", "bc5cdr", *LANGUAGES], "test_f1-measure-overall"),
}
# Groups of entities, by their words.
GROUPS = {
    "all": "all",
    "in_vocabulary": "in vocabulary",
    "oov": "OOV",
    "seen": "seen in training",
    "unseen": "unseen in training",
}


def sort_representations(names: Iterable[str]) -> List[str]:
    """The distinct representations in the order of the tables; `NAME-VARIANT` follows `NAME`."""
    known = {name: index for index, name in enumerate(REPRESENTATIONS)}

    def place(name: str):
        return known.get(base_model(name), len(known)), minutes_of(name), name

    return sorted(set(names), key=place)


def title_of(representation: str) -> str:
    """What tables call `NAME` and `NAME-VARIANT`."""
    base = base_model(representation)
    return REPRESENTATIONS.get(base, Representation(base)).title


def base_model(representation: str) -> str:
    """`NAME` of `NAME-VARIANT`."""
    return representation.partition("-")[0]


def language_model_of(representation: str) -> str:
    """`NAME-VARIANT` of `NAME_fasttext-VARIANT`, where fastText's vectors are beside its own."""
    return representation.replace("_fasttext", "")


def minutes_of(representation: str) -> int:
    """The minutes of training in `NAME-15min`, otherwise 0."""
    match = re.search(r"-(\d+)min\b", representation)
    return int(match[1]) if match else 0


def mean_score(results: Results, representation: str) -> Optional[float]:
    """The mean of the tasks of the paired tests, of each the mean of its seeds, if all were run."""
    runs = [run for run in results["tasks"] if run["representation"] == representation]
    scores = [[run["score"] for run in runs if run["task"] == task] for task in PAIRED_TASKS]
    return statistics.mean(map(statistics.mean, scores)) if all(scores) else None


def f1(counts: numpy.ndarray) -> numpy.ndarray:
    """
    F1 in percent of the numbers of annotated, predicted and correct answers, shape `(…, 3)`. Where
    each sentence has one answer, it is the accuracy.
    """
    annotated, predicted, correct = numpy.moveaxis(counts, -1, 0)
    return 200 * correct / numpy.maximum(annotated + predicted, 1)
