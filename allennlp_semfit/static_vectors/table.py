"""Tables of word vectors in word2vec's text format."""

from pathlib import Path
from typing import Sequence

import numpy

from allennlp_semfit.common.output import write_file

__all__ = ["write_table"]


def write_table(path: Path, words: Sequence[str], vectors: numpy.ndarray) -> None:
    """
    Writes vectors in word2vec's text format, which AllenNLP's `embedding` reads as a
    `pretrained_file` and gensim with `KeyedVectors.load_word2vec_format`: the line `N D`, then one
    line for each word, with its vector to six significant digits, all separated by spaces. The file
    appears when it is complete.

    # Parameters

    path : `Path`
        A missing directory is created.
    words : `Sequence[str]`
        Without white space.
    vectors : `numpy.ndarray`
        Shape `(len(words), dim)`.
    """
    num_words, dim = vectors.shape
    with write_file(path) as unfinished, unfinished.open(
        "w", encoding="utf-8", newline="\n"
    ) as file:
        file.write(f"{num_words} {dim}\n")
        row_format = "%s" + dim * " %.6g" + "\n"
        for word, vector in zip(words, vectors):
            file.write(row_format % (word, *vector.tolist()))
