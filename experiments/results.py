"""Look-ups in collected results, shared by tables and plots."""

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple

__all__ = [
    "EQUAL_TIME",
    "PUBMED",
    "TASKS",
    "Results",
    "Training",
    "base_model",
    "cloze_scores",
    "sort_representations",
    "task_scores",
    "list_trainings",
    "variant_of",
]

# From `experiments.collect_results`.
Results = Mapping[str, List[Dict[str, Any]]]

# The order of tables and legends. Others follow.
_REPRESENTATIONS = [
    "none",
    "fasttext",
    "elmo",
    "elmo_adaptive",
    "elmo_semfit",
    "elmo_semfit_sru",
    "elmo_semfit_qrnn",
    "elmo_semfit_gated_cnn",
    "elmo_semfit_transformer",
    "elmo_semfit_torch_lstm",
    "elmo_semfit_whitened",
    "elmo_semfit_contrastive",
    "elmo_semfit_oneb",
    "elmo_semfit_cnn",
    "elmo_semfit_svd",
    "elmo_semfit_svd_input",
    "elmo_semfit_pca",
    "elmo_semfit_mimick",
    "elmo_semfit_random",
    "elmo_semfit_l2",
    "elmo_semfit_nllvmf",
    "elmo_subword",
    "masked_lm",
]
# Suffix of a representation whose language model was stopped after the training time of ELMo-S.
EQUAL_TIME = "-equal-time"
# The second corpus: biomedical abstracts, for some of the language models.
PUBMED = "pubmed"

# The five tasks of the paper, with their metrics.
TASKS = {"snli": "accuracy", "coref": "F1", "sst5": "accuracy", "ner": "F1", "srl": "F1"}


def sort_representations(names: Iterable[str]) -> List[str]:
    """The distinct representations in the order of the tables; `NAME-VARIANT` follows `NAME`."""
    known = {name: index for index, name in enumerate(_REPRESENTATIONS)}
    return sorted(set(names), key=lambda name: (known.get(base_model(name), len(known)), name))


def base_model(representation: str) -> str:
    """`NAME` of `NAME-VARIANT`: the language model, whatever the way it is used."""
    return representation.partition("-")[0]


def variant_of(representation: str) -> str:
    """`-VARIANT` of `NAME-VARIANT`, otherwise an empty string."""
    return representation[len(base_model(representation)) :]


def task_scores(results: Results, task: str, representation: str) -> List[float]:
    """The scores of all runs, in percent."""
    wanted = (task, representation)
    return [
        run["score"] for run in results["tasks"] if (run["task"], run["representation"]) == wanted
    ]


def cloze_scores(
    results: Results, *, pubmed: bool = False
) -> Dict[str, Dict[str, Mapping[str, Any]]]:
    """The rows of the cloze test by language model and frequency bucket."""
    return {
        row["name"]: {each["bucket"]: each for each in row["rows"]}
        for row in results["cloze"]
        if (row["corpus"] == PUBMED) == pubmed
    }


class Training(NamedTuple):
    """
    The training of a language model that serves as a representation.

    # Parameters

    name : `str`
        The language model.
    representation : `str`
        Its name in the tasks.
    seconds : `float`
    updates : `int`
    """

    name: str
    representation: str
    seconds: float
    updates: int


def list_trainings(results: Results) -> List[Training]:
    """First the trainings stopped after the time of ELMo-S, then the complete ones."""
    stopped = [
        Training(row["name"], row["name"] + EQUAL_TIME, row["seconds"], row["updates"])
        for row in results["equal_time"]
    ]
    ended = [
        Training(row["name"], row["name"], row["training_seconds"], row["updates"])
        for row in results["language_models"]
        if row["corpus"] != PUBMED and row["training_seconds"]
    ]
    return stopped + ended
