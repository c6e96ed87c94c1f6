"""
What decoding by the nearest vector does to a known distribution: the words after each word of a
text.

    python -m experiments.projections TRAIN VECTORS.bin OUT.json
"""

import argparse
import logging
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.vocabulary import DEFAULT_BOUNDARY_TOKEN
from allennlp_semfit.corpus.word_counts import count_words, sort_by_frequency
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.static_vectors.cooccurrence import count_cooccurrences
from experiments.json_files import write_json

__all__ = ["decode", "word_vectors"]

_CONTEXTS = 256


def decode(
    probabilities: csr_matrix, weights: numpy.ndarray, vectors: numpy.ndarray, *, by_cosine: bool
) -> Dict[str, float]:
    """
    A head with the targets `W` that has learned `P` perfectly predicts the mean target, `p W`.
    Decoding it takes the word with the highest product `p W Wᵀ` or cosine, which is not always the
    most probable one: Li et al. 2019, section 5.2.

    # Parameters

    probabilities : `csr_matrix`
        `P`, the distributions of words in contexts. Shape `(num_contexts, num_words)`.
    weights : `numpy.ndarray`
        The share of each context in the text. Shape `(num_contexts,)`.
    vectors : `numpy.ndarray`
        `W`, shape `(num_words, dim)`.
    by_cosine : `bool`
        Whether to decode by the cosine, or by the product.

    # Returns

    `Dict[str, float]`
        Over the text, `"first"` and `"among_10"`, the shares of contexts whose most probable word
        is decoded first and among the first ten, and `"hubs"`, the share of those that are decoded
        as one of the ten words that are decoded most often.
    """
    targets = normalize(vectors) if by_cosine else vectors
    decoded = numpy.zeros(len(vectors))
    first = among_10 = 0.0
    for start in range(0, probabilities.shape[0], _CONTEXTS):
        some = probabilities[start : start + _CONTEXTS]
        rows = numpy.arange(some.shape[0])
        share = weights[start : start + _CONTEXTS]
        most_probable = numpy.asarray(some.argmax(axis=1)).ravel()
        scores = (some @ targets) @ targets.T
        rank = (scores > scores[rows, most_probable][:, None]).sum(axis=1)
        first += share[rank == 0].sum()
        among_10 += share[rank < 10].sum()
        numpy.add.at(decoded, scores.argmax(axis=1), share)
    return {"first": first, "among_10": among_10, "hubs": _share_of_ten(decoded)}


def _share_of_ten(decoded: numpy.ndarray) -> float:
    return float(numpy.sort(decoded)[-10:].sum())


def word_vectors(
    probabilities: csr_matrix, weights: numpy.ndarray, fasttext: numpy.ndarray
) -> Dict[str, numpy.ndarray]:
    """
    Targets of the same dimension as those of fastText. Shape `(num_words, dim)` each.

    # Parameters

    probabilities, weights
        As for `decode`.
    fasttext : `numpy.ndarray`
        Shape `(num_words, dim)`.
    """
    dim = fasttext.shape[1]
    random = numpy.random.default_rng(1)
    weighted = diags(numpy.sqrt(weights)) @ probabilities
    _, _, components = svds(weighted, k=dim, v0=random.standard_normal(min(weighted.shape)))
    directions = normalize(fasttext)
    return {
        "SVD of P": components.T,
        "fastText": directions,
        "fastText, centred": directions - directions.mean(axis=0),
        "fastText, whitened": PCA(whiten=True, random_state=1).fit_transform(directions),
        "random": random.standard_normal(fasttext.shape),
    }


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.projections", description=__doc__)
    parser.add_argument("train", help="text: a file, a directory or a pattern")
    parser.add_argument("vectors", type=Path, help="a fastText model")
    parser.add_argument("out", type=Path, help="a JSON file")
    parser.add_argument(
        "--words", type=int, default=20_000, help="the most frequent words; default: 20,000"
    )
    parser.add_argument(
        "--min-count", type=int, default=10, help="frequency of the contexts; default: 10"
    )
    args = parser.parse_args(arguments)
    try:
        model = FastTextModel.open(args.vectors)
        files = find_text_files([args.train])
        words = sort_by_frequency(count_words(files).counts)[: args.words]
        # The first one stands for all others, which are neither contexts nor targets.
        words = [DEFAULT_OOV_TOKEN, *words, DEFAULT_BOUNDARY_TOKEN]
        cooccurrences = count_cooccurrences(files, words, window=1)[1:, 1:]
    except ConfigurationError as error:
        sys.exit(f"projections: {error}")
    counts = numpy.asarray(cooccurrences.sum(axis=1)).ravel()
    contexts = numpy.flatnonzero(counts >= args.min_count)
    probabilities = diags(1 / counts[contexts]) @ cooccurrences[contexts].astype(float)
    weights = counts[contexts] / counts[contexts].sum()
    fasttext = numpy.stack([model.get_word_vector(word) for word in words[1:]])
    most_probable = numpy.asarray(probabilities.argmax(axis=1)).ravel()
    hubs = _share_of_ten(numpy.bincount(most_probable, weights))
    rows: List[Dict[str, Any]] = [
        {"targets": "P itself", "by": "probability", "first": 1.0, "among_10": 1.0, "hubs": hubs}
    ]
    rows += [
        {"targets": name, "by": by, **decode(probabilities, weights, vectors, by_cosine=by_cosine)}
        for name, vectors in word_vectors(probabilities, weights, fasttext).items()
        for by, by_cosine in (("product", False), ("cosine", True))
    ]
    write_json(args.out, rows)


if __name__ == "__main__":
    main()
