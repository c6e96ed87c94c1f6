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


def _failure(message: str) -> SystemExit:
    # fastText's progress output does not end with a line feed.
    return SystemExit(f"\n{message}")


def train(arguments: Dict[str, Any], out_file: str) -> None:
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
    model.save_model(out_file)


if __name__ == "__main__":
    # If the parent is killed, the next progress output ends this process too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    train(**json.loads(sys.argv[1]))
