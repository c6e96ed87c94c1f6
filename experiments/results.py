"""What tables and plots look up in gathered results, and the order that both have."""

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple

__all__ = [
    "IN_TIME",
    "LONG_TAIL",
    "TASKS",
    "UNNORMALIZED",
    "Results",
    "Training",
    "base_of",
    "frequencies_of",
    "in_order",
    "scores_of",
    "trainings_of",
    "way_of",
]

# What `experiments.gather` gives.
Results = Mapping[str, List[Dict[str, Any]]]

# In this order, and others after them.
_REPRESENTATIONS = [
    "none",
    "fasttext",
    "elmo",
    "elmo_adaptive",
    "elmo_semfit",
    "elmo_semfit_whitened",
    "elmo_semfit_oneb",
    "elmo_semfit_cnn",
    "elmo_semfit_random",
    "elmo_semfit_l2",
    "elmo_semfit_nllvmf",
    "elmo_subword",
]
# So ends the name of a representation whose language model had the time that ELMo-S took.
IN_TIME = "-in-time"
# And so that of one whose layers a task mixes as they are.
UNNORMALIZED = "-unnormalized"
# The corpus that only some language models are trained on.
LONG_TAIL = "pubmed"

# The five of the paper, and how each is scored.
TASKS = {"snli": "accuracy", "coref": "F1", "sst5": "accuracy", "ner": "F1", "srl": "F1"}


def in_order(names: Iterable[str]) -> List[str]:
    """Each representation once, in the order of the tables: `NAME-…` after `NAME`."""
    known = {name: index for index, name in enumerate(_REPRESENTATIONS)}
    return sorted(set(names), key=lambda name: (known.get(base_of(name), len(known)), name))


def base_of(representation: str) -> str:
    """`NAME` of `NAME-…`, which is the same language model used in another way."""
    return representation.partition("-")[0]


def way_of(representation: str) -> str:
    """`-…` of `NAME-…`, and of others nothing."""
    return representation[len(base_of(representation)) :]


def scores_of(results: Results, task: str, representation: str) -> List[float]:
    """In percent, one for each seed."""
    wanted = (task, representation)
    return [
        run["score"] for run in results["tasks"] if (run["task"], run["representation"]) == wanted
    ]


def frequencies_of(
    results: Results, *, long_tail: bool = False
) -> Dict[str, Dict[str, Mapping[str, Any]]]:
    """By language model, by how often its text has a word: what it makes of such words."""
    return {
        row["name"]: {each["bucket"]: each for each in row["rows"]}
        for row in results["frequency"]
        if (row["corpus"] == LONG_TAIL) == long_tail
    }


class Training(NamedTuple):
    """
    How long a language model had been trained when it became a representation.

    # Parameters

    name : `str`
        Of the language model.
    representation : `str`
        What tasks with it call it.
    seconds : `float`
    updates : `int`
    """

    name: str
    representation: str
    seconds: float
    updates: int


def trainings_of(results: Results) -> List[Training]:
    """First those that were stopped when ELMo-S was done, then those that came to their end."""
    stopped = [
        Training(row["name"], row["name"] + IN_TIME, row["seconds"], row["updates"])
        for row in results["in_time"]
    ]
    ended = [
        Training(row["name"], row["name"], row["training_seconds"], row["updates"])
        for row in results["language_models"]
        if row["corpus"] != LONG_TAIL and row["training_seconds"]
    ]
    return stopped + ended
