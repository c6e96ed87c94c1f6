"""
The process in which `allennlp_semfit.fasttext.train` trains one fastText model.

It is a process of its own because fastText works inside one call into C++: there, Ctrl-C would
wait for the end of the training, and a crash or the lack of memory would end the caller. It is
started by its path, and not with `-m`, so as not to wait for PyTorch and AllenNLP to be imported.
"""

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    import numpy

ROWS_AT_A_TIME = 65536
SMALLEST_NORMAL_FLOAT32 = 2.0**-126


class TrainingError(Exception):
    """A model came out that nobody should use, or none at all."""


def count_faulty_rows(matrix: "numpy.ndarray") -> int:
    """
    Counts the rows that hold a NaN or an infinity, or nothing but zeros.

    # Parameters

    matrix : `numpy.ndarray`
        Shape `(num_rows, dim)`. It is read piece by piece: a large model's matrix fits into memory
        once, and a mask as large as the matrix may not.

    # Returns

    `int`
    """
    import numpy

    faulty = 0
    for start in range(0, len(matrix), ROWS_AT_A_TIME):
        # A row's largest absolute value is NaN or infinite if any of its values is. What lies under
        # the smallest normal number is what stale memory looks like, not what training yields.
        largest = numpy.abs(matrix[start : start + ROWS_AT_A_TIME]).max(axis=1)
        faulty += int((~numpy.isfinite(largest) | (largest < SMALLEST_NORMAL_FLOAT32)).sum())
    return faulty


def is_initialised(num_values: int, threads: int) -> bool:
    """
    Says whether fastText gave every value of its input matrix a random start.

    fastText 0.9 gives thread k the values from k · ⌊n/10⌋ to (k + 1) · ⌊n/10⌋, however many threads
    there are. So ten threads miss the last values unless n is a multiple of ten, and fewer miss a
    tenth each. What is missed holds whatever was in memory, mostly zeros, sometimes NaN.

    # Parameters

    num_values : `int`
        n, the rows of the matrix times its columns.
    threads : `int`

    # Returns

    `bool`
    """
    return threads > 1 and threads * (num_values // 10) >= num_values


def expected_file_size(model: Any) -> int:
    """
    The size in bytes of the file to which a model is saved. fastText does not notice when the disk
    is full: it leaves a file that is cut short, and reads the missing part of it as zeros.

    # Parameters

    model : `fasttext.FastText._FastText`

    # Returns

    `int`
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
    Trains a model, checks it and saves it.

    # Parameters

    arguments : `Dict[str, Any]`
        The keyword arguments of `fasttext.train_unsupervised`.
    out_path : `str`
        Where the model is saved, if it is sound.

    # Returns

    `Dict[str, Any]`
        `dictionary_size`, the number of words in the dictionary.

    # Raises

    `TrainingError`
        If the model is not sound, or was not written whole. Rows are not repaired: one whose start
        was stale memory can look like any other, and has had its part in training the others.
    """
    import fasttext
    import numpy

    try:
        model = fasttext.train_unsupervised(**arguments)
    except RuntimeError as error:
        if "NaN" in str(error):
            raise TrainingError(_diverged(arguments["lr"])) from error
        raise
    # `get_input_matrix()` would copy it.
    matrix = numpy.asarray(model.f.getInputMatrix())
    if not is_initialised(matrix.size, arguments["thread"]):
        raise TrainingError(
            f"fastText cannot initialise a matrix of {matrix.shape[0]} rows and "
            f"{matrix.shape[1]} columns with {arguments['thread']} threads: raise --dim, --bucket "
            "or --threads, or give more text"
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
            f"only {written:,} of {expected:,} bytes could be written: make room on the disk"
        )
    return {"dictionary_size": len(model.get_words())}


def _diverged(learning_rate: float) -> str:
    return f"the training diverged: lower --lr, which is {learning_rate:g}"


def main(options: str) -> None:
    """
    Trains as `options` says, with fastText's progress on stderr, and writes the result or
    `{"error": …}` to stdout as JSON.

    # Parameters

    options : `str`
        `{"arguments": …, "out_path": …}` as JSON, the parameters of `train`.
    """
    # If the parent is killed, fastText's next line of progress ends this process too.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        result = train(**json.loads(options))
    except (TrainingError, ValueError, RuntimeError, MemoryError) as error:
        result = {"error": str(error) or type(error).__name__}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    # The folder of a script comes first in the path: a module beside this one would hide a library.
    sys.path.pop(0)
    main(sys.argv[1])
