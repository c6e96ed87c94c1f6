"""
Scores the word vectors of a language model by a linear classifier of single words, which takes a
minute where a tagger takes many:

    python -m experiments.linear_probe ARCHIVE TRAIN.conll TEST.conll OUT.json

The classifier is a logistic regression of each word's entity type on the layers side by side.
"""

import argparse
import logging
import sys
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import numpy
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.data.fields import SequenceLabelField, TextField
from allennlp_models.tagging import Conll2003DatasetReader
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allennlp_semfit.commands.options import add_language_model_options, load_language_model
from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder
from experiments.json_files import write_json

__all__ = ["OUTSIDE", "TypedSentence", "probe_words", "read_types"]

# The type of a word outside of any entity.
OUTSIDE = "O"

# The words of a sentence and their entity types.
TypedSentence = Tuple[List[str], List[str]]


def read_types(file: Path) -> List[TypedSentence]:
    """
    # Raises

    `InvalidFileError`
        If the file, in the columns of CoNLL 2003, does not exist or has no sentences.
    """
    remedy = "Give a file in the columns of CoNLL 2003."
    if not file.exists():
        raise InvalidFileError(file, "does not exist", remedy)
    sentences = []
    for instance in Conll2003DatasetReader().read(str(file)):
        tokens, labels = instance.fields["tokens"], instance.fields["tags"]
        assert isinstance(tokens, TextField)
        assert isinstance(labels, SequenceLabelField)
        # The types without "B-" or "I-".
        types = [str(label)[2:] or OUTSIDE for label in labels.labels]
        sentences.append(([str(token.text) for token in tokens.tokens], types))
    if not sentences:
        raise InvalidFileError(file, "has no sentences", remedy)
    return sentences


def probe_words(
    embedder: SentenceEmbedder,
    training: Sequence[TypedSentence],
    test: Sequence[TypedSentence],
    regularization: float = 1.0,
) -> Dict[str, Any]:
    """
    # Parameters

    embedder : `SentenceEmbedder`
    training : `Sequence[TypedSentence]`
    test : `Sequence[TypedSentence]`
    regularization : `float`, optional (default = `1.0`)
        `C` of `LogisticRegression`: the smaller, the stronger.

    # Returns

    `Dict[str, Any]`
        `"f1"`, the micro-averaged F1 of single words in entities, in percent; `"f1_unseen"`, the
        same of the words that the training sentences do not have; and their numbers of words,
        `"words"` and `"words_unseen"`.
    """
    vectors, types, words = _embed(embedder, training)
    classifier = make_pipeline(
        StandardScaler(), LogisticRegression(C=regularization, max_iter=300, tol=1e-3)
    )
    classifier.fit(vectors, types)
    seen: Set[str] = set(words)
    vectors, types, words = _embed(embedder, test)
    predicted = classifier.predict(vectors)
    unseen = numpy.array([word not in seen for word in words])
    return {
        "f1": _f1(types, predicted),
        "words": len(types),
        "f1_unseen": _f1(types[unseen], predicted[unseen]),
        "words_unseen": int(unseen.sum()),
    }


def _embed(
    embedder: SentenceEmbedder, sentences: Sequence[TypedSentence]
) -> Tuple[numpy.ndarray, numpy.ndarray, List[str]]:
    """The layers of each word side by side, the types, and the words."""
    embedded: Iterable[numpy.ndarray] = embedder.embed_sentences([words for words, _ in sentences])
    vectors = [
        layers.transpose(1, 0, 2).reshape(layers.shape[1], -1)
        for layers in Tqdm.tqdm(embedded, total=len(sentences), desc="embedding")
    ]
    types = [kind for _, kinds in sentences for kind in kinds]
    words = [word for words, _ in sentences for word in words]
    return numpy.concatenate(vectors), numpy.array(types), words


def _f1(types: numpy.ndarray, predicted: numpy.ndarray) -> float:
    labels = sorted({*types, *predicted} - {OUTSIDE})
    if not labels:
        return 0.0
    score = f1_score(types, predicted, labels=labels, average="micro", zero_division=0.0)
    return 100 * float(score)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.linear_probe", description=__doc__)
    parser.add_argument("archive", help="the model.tar.gz of a language model")
    parser.add_argument("train", type=Path, help="sentences in the columns of CoNLL 2003")
    parser.add_argument("test", type=Path, help="the same, to score")
    parser.add_argument("out", type=Path, help="a JSON file")
    add_language_model_options(parser)
    args = parser.parse_args(arguments)
    try:
        training, test = read_types(args.train), read_types(args.test)
        result = probe_words(load_language_model(args), training, test)
    except ConfigurationError as error:
        sys.exit(f"linear_probe: {error}")
    write_json(args.out, result)


if __name__ == "__main__":
    main()
