"""
The process in which `allennlp_semfit.fasttext.train` trains a fastText model.

fastText trains in a single call into C++. In a separate process, Ctrl-C can interrupt it, and a
crash or lack of memory does not end the caller. The script is run by its path and not with `-m`, so
that it does not import PyTorch and AllenNLP.
"""

import json
import signal
import sys
from typing import Any, Dict

# Bounds the memory for whitening.
_BLOCK = 2**16


def _failure(message: str) -> SystemExit:
    # fastText's progress output does not end with a line feed.
    return SystemExit(f"\n{message}")


def train(arguments: Dict[str, Any], whiten: bool, out_file: str) -> None:
    """
    Calls `fasttext.train_unsupervised` with the arguments, and saves the model if it is finite.
    """
    import fasttext
    import numpy

    diverged = f"it diverged: lower --lr, which is {arguments['lr']:g}"
    try:
        model = fasttext.train_unsupervised(**arguments)
    except RuntimeError as error:
        raise _failure(diverged if "NaN" in str(error) else str(error)) from error
    except MemoryError as error:
        raise _failure("memory ran out: lower --dim or --bucket, or raise --min-count") from error
    # Unlike `get_input_matrix()`, this does not copy the matrix, and the sum, in contrast to a mask
    # of all elements, takes no memory. Finite values of `float32` cannot overflow in `float64`.
    matrix = numpy.asarray(model.f.getInputMatrix())
    if not numpy.isfinite(matrix.sum(dtype=numpy.float64)):
        raise _failure(diverged)
    if whiten:
        _whiten(model, matrix)
    model.save_model(out_file)


def _whiten(model: Any, matrix: Any) -> None:
    """
    Whitens the vectors of the words, by their counts. The vector of a word is the mean of rows of
    the matrix, so an affine map of the rows is the same map of the vectors.
    """
    import numpy

    counts = dict(zip(*model.get_words(include_freq=True)))
    # The end of a sentence is not a word.
    counts.pop("</s>", None)
    words = [*counts]
    total, dim = sum(counts.values()), model.get_dimension()
    sums, products = numpy.zeros(dim), numpy.zeros((dim, dim))
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        vectors = numpy.array([model.get_word_vector(word) for word in block], dtype=float)
        weights = numpy.array([counts[word] for word in block])
        sums += weights @ vectors
        products += (vectors.T * weights) @ vectors
    mean = sums / total
    covariance = products / total - numpy.outer(mean, mean)
    variances, directions = numpy.linalg.eigh(covariance)
    # With few words, some variances are zero.
    transform = directions / numpy.sqrt(variances.clip(min=variances.sum() / total))
    for start in range(0, len(matrix), _BLOCK):
        rows = matrix[start : start + _BLOCK]
        rows[:] = (rows - mean) @ transform


if __name__ == "__main__":
    # If the parent is killed, the next progress output ends this process too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    train(**json.loads(sys.argv[1]))
