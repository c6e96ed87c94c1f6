"""What the runs of the Makefile are called."""

import re
from typing import Iterable, List

import numpy

# The titles, colours and markers of word representations, in the order of tables and legends. The
# colours are of Paul Tol's muted and vibrant schemes, which are safe for colour-blind readers.
REPRESENTATIONS = {
    "none": ("none", "#999999", "x"),
    "fasttext": ("fastText", "#000000", "+"),
    "word2vec": ("word2vec", "#999999", "."),
    "flair": ("flair", "#882255", "v"),
    "bert": ("BERT, small", "#44AA99", "^"),
    "electra": ("ELECTRA, small", "#88CCEE", "P"),
    "elmo": ("ELMo", "#CC6677", "s"),
    "elmo_adaptive": ("ELMo-A", "#DDAA33", "D"),
    "elmo_semfit": ("ELMo-S", "#332288", "o"),
    "elmo_semfit_contrastive": ("ELMo-S, contrastive head", "#EE7733", "h"),
    "elmo_semfit_fasttext": ("ELMo-S + fastText", "#999999", "."),
    "elmo_semfit_contrastive_fasttext": (
        "ELMo-S, contrastive head + fastText",
        "#999999",
        ".",
    ),
}
# The tasks of the paired tests, whose mean is compared.
PAIRED_TASKS = ("snli", "ner", "srl", "bc5cdr")
# Languages with little text: corpora, and NER in them.
LANGUAGES = {"yor": "Yoruba", "wol": "Wolof"}
# The metric of each task in the `metrics.json` of a run.
METRICS = {
    "snli": "test_accuracy",
    **dict.fromkeys(["ner", "srl", "bc5cdr", *LANGUAGES], "test_f1-measure-overall"),
}


def sort_representations(names: Iterable[str]) -> List[str]:
    """The distinct representations in the order of the tables; `NAME-VARIANT` follows `NAME`."""
    places = {name: place for place, name in enumerate(REPRESENTATIONS)}

    def key(name: str):
        return places.get(base_model(name), len(places)), minutes_of(name), name

    return sorted(set(names), key=key)


def title_of(representation: str) -> str:
    """What tables call `NAME` and `NAME-VARIANT`."""
    base = base_model(representation)
    return REPRESENTATIONS.get(base, (base,))[0]


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


def f1(counts: numpy.ndarray) -> numpy.ndarray:
    """
    F1 in percent of the numbers of annotated, predicted and correct answers, shape `(…, 3)`. Where
    each sentence has one answer, it is the accuracy.
    """
    annotated, predicted, correct = numpy.moveaxis(counts, -1, 0)
    return 200 * correct / numpy.maximum(annotated + predicted, 1)
