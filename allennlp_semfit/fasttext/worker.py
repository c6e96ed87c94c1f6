"""
The process in which `allennlp_semfit.fasttext.train` trains a fastText model.

fastText trains in a single call into C++. In a separate process, Ctrl-C can interrupt it, and a
crash or lack of memory does not end the caller. The script is run by its path and not with `-m`, so
that it does not import PyTorch and AllenNLP.
"""

import json
import signal
import sys
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    import numpy


def count_faulty_rows(matrix: "numpy.ndarray") -> int:
    """Counts the rows with a NaN or infinity, or with zeros only."""
    import numpy

    # `einsum` does not copy the matrix. Subnormal numbers come from uninitialized memory, not from
    # training; their squares are zero.
    squares = numpy.einsum("ij,ij->i", matrix, matrix)
    return len(matrix) - int(numpy.sum(numpy.isfinite(squares) & (squares > 0)))


def _failure(message: str) -> SystemExit:
    # fastText's progress output does not end with a line feed.
    return SystemExit(f"\n{message}")


def train(arguments: Dict[str, Any], out_path: str) -> None:
    """
    Calls `fasttext.train_unsupervised` with the arguments, and saves the model if it is valid.
    Uninitialized rows are not repaired: they cannot all be recognized, and they affect the training
    of the others.
    """
    import fasttext
    import numpy

    diverged = f"it diverged: lower --lr, which is {arguments['lr']:g}"
    try:
        model = fasttext.train_unsupervised(**arguments)
    except RuntimeError as error:
        raise _failure(diverged if "NaN" in str(error) else str(error)) from error
    except MemoryError as error:
        raise _failure("memory ran out: lower --bucket or --dim") from error
    # Unlike `get_input_matrix()`, this does not copy the matrix.
    matrix = numpy.asarray(model.f.getInputMatrix())
    faulty_rows = count_faulty_rows(matrix)
    if faulty_rows:
        raise _failure(
            f"{faulty_rows} of {len(matrix)} rows of the input matrix are NaN, infinite or zero; "
            + diverged
        )
    model.save_model(out_path)


if __name__ == "__main__":
    # If the parent is killed, the next progress output ends this process too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    train(**json.loads(sys.argv[1]))
