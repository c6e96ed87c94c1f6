"""
The process in which `allennlp_semfit.fasttext.train` trains a fastText model.

fastText trains in a single call into C++. In a separate process, Ctrl-C can interrupt it, and a
crash or lack of memory does not end the caller. The script is run by its path and not with `-m`, so
that it does not import PyTorch and AllenNLP.
"""

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    import numpy

CHUNK_ROWS = 65536
SMALLEST_NORMAL_FLOAT32 = 2.0**-126


class TrainingError(Exception):
    """The training failed, or the model is not usable."""


def count_faulty_rows(matrix: "numpy.ndarray") -> int:
    """Counts the rows with a NaN or infinity, or with zeros only."""
    import numpy

    faulty = 0
    # A mask of the whole matrix might not fit into memory beside it.
    for start in range(0, len(matrix), CHUNK_ROWS):
        # The maximum is NaN or infinite if any value is. Subnormal numbers come from uninitialised
        # memory, not from training.
        largest = numpy.abs(matrix[start : start + CHUNK_ROWS]).max(axis=1)
        faulty += int((~numpy.isfinite(largest) | (largest < SMALLEST_NORMAL_FLOAT32)).sum())
    return faulty


def is_initialised(num_values: int, threads: int) -> bool:
    """
    Whether fastText initialises all n = `num_values` values of its input matrix.

    In fastText 0.9, thread k initialises the values from k · ⌊n/10⌋ to (k + 1) · ⌊n/10⌋, whatever
    the number of threads. So each missing thread leaves a tenth uninitialised, and ten threads
    leave the last values unless n is a multiple of ten. Uninitialised memory mostly contains zeros,
    sometimes NaN.
    """
    return threads > 1 and threads * (num_values // 10) >= num_values


def expected_file_size(model: Any) -> int:
    """
    The size of a model's file in bytes. fastText does not detect a full disk: it leaves a truncated
    file, and reads the missing part as zeros.
    """
    import numpy

    magic_and_version, arguments, dictionary_header = 8, 12 * 4 + 8, 3 * 4 + 2 * 8
    # After each word: its terminating zero, its count and its type.
    words = sum(len(word.encode("utf-8")) + 1 + 8 + 1 for word in model.get_words())
    # Before each matrix: whether it is quantised, and its shape.
    matrices = sum(
        1 + 2 * 8 + numpy.asarray(matrix).nbytes
        for matrix in (model.f.getInputMatrix(), model.f.getOutputMatrix())
    )
    return magic_and_version + arguments + dictionary_header + words + matrices


def train(arguments: Dict[str, Any], out_path: str) -> Dict[str, Any]:
    """
    Calls `fasttext.train_unsupervised` with the arguments, and saves the model if it is valid.
    Returns `{"dictionary_size": …}`, the number of words in the dictionary.

    # Raises

    `TrainingError`
        If the model is not valid or was not written completely. Uninitialised rows are not
        repaired: they cannot all be recognised, and they affect the training of the others.
    """
    import fasttext
    import numpy

    try:
        model = fasttext.train_unsupervised(**arguments)
    except RuntimeError as error:
        if "NaN" in str(error):
            raise TrainingError(_diverged(arguments["lr"])) from error
        raise
    # Unlike `get_input_matrix()`, this does not copy the matrix.
    matrix = numpy.asarray(model.f.getInputMatrix())
    if not is_initialised(matrix.size, arguments["thread"]):
        raise TrainingError(
            f"fastText cannot initialise a matrix of {matrix.shape[0]} rows and "
            f"{matrix.shape[1]} columns with {arguments['thread']} threads: increase --dim, "
            "--bucket or --threads, or give more text"
        )
    faulty_rows = count_faulty_rows(matrix)
    if faulty_rows:
        raise TrainingError(
            f"{faulty_rows} of {len(matrix)} rows of the input matrix are NaN, infinite or zero; "
            f"{_diverged(arguments['lr'])}"
        )
    model.save_model(out_path)
    written, expected = os.path.getsize(out_path), expected_file_size(model)
    if written != expected:
        raise TrainingError(
            f"only {written:,} of {expected:,} bytes could be written: free some disk space"
        )
    return {"dictionary_size": len(model.get_words())}


def _diverged(learning_rate: float) -> str:
    return f"the training diverged: lower --lr, which is {learning_rate:g}"


def main(options: str) -> None:
    """
    Runs `train` with the arguments in `options`, as JSON. fastText's progress goes to stderr; the
    result, or `{"error": …}`, is written to stdout as JSON.
    """
    # If the parent is killed, the next progress output ends this process too.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        result = train(**json.loads(options))
    except (TrainingError, ValueError, RuntimeError) as error:
        result = {"error": str(error) or type(error).__name__}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
