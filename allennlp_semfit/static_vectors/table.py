"""Tables of word vectors in text format, as GloVe and word2vec write them."""

import logging
import math
import re
from array import array
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

import numpy
from allennlp.common import Tqdm
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile, parse_embeddings_file_uri

from allennlp_semfit.common.errors import InvalidFileError, first_line, resolve_file
from allennlp_semfit.common.output import write_file

logger = logging.getLogger(__name__)

_KIND = "Table of word vectors"
_REMEDY = (
    "Give a table as GloVe or word2vec writes it: each line has a word and the values of its "
    "vector, separated by single spaces."
)


def read_table(path: str, *, max_words: Optional[int] = None) -> Tuple[List[str], numpy.ndarray]:
    """
    Reads word vectors in the text format of GloVe, word2vec and fastText's `.vec`: UTF-8, one word
    and its vector per line, separated by single spaces. The first line may be word2vec's header,
    the number of words and the dimension. If a word occurs more than once, as in `glove.840B.300d`,
    its first vector is kept. Words that are not UTF-8, as in fastText's `cc.ko.300.vec`, and words
    of white space are ignored.

    # Parameters

    path : `str`
        As for AllenNLP's `EmbeddingsTextFile`: a path or URL, compressed or not, or a file in an
        archive, `(glove.6B.zip)#glove.6B.100d.txt`.
    max_words : `int`, optional (default = `None`)
        Read only this many words, in all these formats the most frequent ones. The rest of the
        table is not checked.

    # Returns

    `List[str]`
        The words, in the order of the file. Words may contain spaces, as in GloVe's largest table.
    `numpy.ndarray`
        Their vectors. Shape `(num_words, dim)`, `float32`.

    # Raises

    `InvalidFileError`
        If the file is missing, empty, or not such a table; if two vectors differ in length, or a
        value is not a finite number.
    """
    resolve_file(parse_embeddings_file_uri(path).main_file_uri, _REMEDY, _KIND)
    words: Dict[str, None] = {}
    # A compact list of numbers, because a table can take several gigabytes.
    values = array("f")
    number = dim = num_ignored = 0
    try:
        # Latin-1 has a character for each byte, also of words that are not UTF-8.
        with EmbeddingsTextFile(path, encoding="latin-1") as lines:
            progress = Tqdm.tqdm(lines, desc="reading word vectors", unit=" lines")
            number += lines.num_tokens is not None
            for line in progress:
                number += 1
                if len(words) == max_words:
                    break
                text = line.rstrip(" \n")
                # The first word contains no space, unless it is a space.
                dim = dim or text.lstrip(" ").count(" ") + text.startswith(" ")
                word, *numbers = text.rsplit(" ", dim)
                vector = list(map(float, numbers))
                if not dim or len(vector) < dim:
                    raise ValueError(f"found {len(vector)} values in place of {dim or 'a vector'}")
                # A word that ends in a number is probably a value too many.
                if re.search(r"\S[ \t][-+]?(\d*\.)?\d+(e[-+]\d+)?$", word):
                    raise ValueError(f"found more than {dim} values")
                if not math.isfinite(sum(array("f", vector))):
                    raise ValueError("found a value that is not finite")
                word = word.encode("latin-1").decode("utf-8", errors="replace")
                if word.strip() and "\ufffd" not in word and word not in words:
                    words[word] = None
                    values.extend(vector)
                else:
                    num_ignored += 1
        if not words:
            raise ValueError("found no words")
    except Exception as error:
        # Also those of gzip, bz2, lzma, zipfile and tarfile, which have no class in common.
        found = f"cannot be read in line {number} ({first_line(error)})"
        raise InvalidFileError(path, found, _REMEDY, _KIND) from error
    if num_ignored:
        logger.warning(
            "%s has %d lines for words that it had before, that are not UTF-8 or that are white "
            "space. They are ignored.",
            path,
            num_ignored,
        )
    return list(words), numpy.frombuffer(values, dtype=numpy.float32).reshape(len(words), dim)


def write_table(path: Path, words: Sequence[str], vectors: numpy.ndarray) -> None:
    """
    Writes vectors in word2vec's text format, which AllenNLP's `embedding` reads as a
    `pretrained_file` and gensim with `KeyedVectors.load_word2vec_format`: the line `N D`, then one
    line per word, with its vector to six significant digits, all separated by spaces. The file
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
    with (
        write_file(path) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(f"{num_words} {dim}\n")
        row_format = "%s" + dim * " %.6g" + "\n"
        for word, vector in zip(words, vectors):
            file.write(row_format % (word, *vector.tolist()))
