"""Tables of word vectors in text format, as GloVe and word2vec write them."""

import logging
import lzma
import math
import re
import tarfile
import zipfile
import zlib
from array import array
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

import numpy
from allennlp.common import Tqdm
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile, parse_embeddings_file_uri

from allennlp_semfit.common.errors import InvalidFileError, check_not_compressed, resolve_file
from allennlp_semfit.common.output import write_file
from allennlp_semfit.common.text_files import read_lines

logger = logging.getLogger(__name__)

_KIND = "Table of word vectors"
_FORMAT = "Each line must have a word and the values of its vector, separated by single spaces."
# The error handler "surrogateescape" maps bytes that are not UTF-8 to these characters.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def read_table(path: str, *, max_words: Optional[int] = None) -> Tuple[List[str], numpy.ndarray]:
    """
    Reads word vectors in the text format of GloVe, word2vec and fastText's `.vec`: UTF-8, one word
    and its vector per line, separated by single spaces. The first line may be word2vec's header,
    the number of words and the dimension. If a word occurs more than once, as in `glove.840B.300d`,
    its first vector is kept. Words that are not UTF-8, as in fastText's `cc.ko.300.vec`, words of
    white space and, as in AllenNLP, lines without a vector of the dimension are skipped.

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
        If the file is missing, empty, truncated, or not such a table.
    """
    words: Dict[str, None] = {}
    skipped: List[int] = []
    # A compact list of numbers, because a table can take several gigabytes.
    values = array("f")
    header: Optional[re.Match] = None
    number = dim = 0

    progress = Tqdm.tqdm(_lines(path), desc="reading word vectors", unit=" lines")
    for number, line in enumerate(progress, start=1):
        text = line.rstrip(" \r")
        if number == 1:
            header = re.fullmatch(r"(\d+) +([1-9]\d*)", text)
            # Without a header, the first word contains no space.
            dim = int(header[2]) if header else text.count(" ")
            if not dim:
                raise InvalidFileError(path, "has no vector in line 1", _FORMAT, _KIND)
            if header:
                continue
        if len(words) == max_words:
            break
        word, *numbers = text.rsplit(" ", dim)
        try:
            vector = list(map(float, numbers))
        except ValueError:
            vector = []
        is_vector = len(vector) == dim and math.isfinite(sum(vector))
        if not is_vector or word in words or not word.strip() or _NOT_UTF8.search(word):
            skipped.append(number)
            continue
        words[word] = None
        values.extend(vector)
    else:
        if header and number <= int(header[1]):
            found = f"has {number - 1} words, but {header[1]} according to its header"
            remedy = (
                "It may be truncated, or in word2vec's binary format: copy it or save it again."
            )
            raise InvalidFileError(path, found, remedy, _KIND)
        if not words:
            raise InvalidFileError(path, "has no words", _FORMAT, _KIND)
    if skipped:
        logger.warning(
            "%s has %d lines that are not read, the first one in line %d: their word occurred "
            "before, is not UTF-8 or is white space, or they have no vector of dimension %d.",
            path,
            len(skipped),
            skipped[0],
            dim,
        )
    return list(words), numpy.frombuffer(values, dtype=numpy.float32).reshape(len(words), dim)


def _lines(path: str) -> Iterator[str]:
    remedy = "Give a table of word vectors, as GloVe or word2vec writes it."
    again = "Copy or download it again."
    resolve_file(parse_embeddings_file_uri(path).main_file_uri, remedy, _KIND)
    try:
        # Latin-1 has a character for each byte, so opening never fails on the encoding.
        with EmbeddingsTextFile(path, encoding="latin-1") as file:
            lines = file._handle.buffer
            # `EmbeddingsTextFile` has read the header, of which it keeps only one number, and
            # recognizes compressed files by their names only.
            lines.seek(0)
            check_not_compressed(lines.read(8), path, remedy, _KIND)
            lines.seek(0)
            yield from read_lines(Path(path), lines, errors="surrogateescape")
    except (StopIteration, IndexError, AttributeError):
        # No line, no member of an archive, or only a directory.
        raise InvalidFileError(path, "is empty", remedy, _KIND) from None
    except (EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        found = f"is damaged or truncated ({error})"
        raise InvalidFileError(path, found, again, _KIND) from error
    except (OSError, ValueError, KeyError) as error:
        raise InvalidFileError(path, f"cannot be read ({error})", remedy, _KIND) from error


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
