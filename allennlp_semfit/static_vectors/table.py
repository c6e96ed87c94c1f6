"""Tables of word vectors in text format, as GloVe and word2vec write them."""

import logging
import lzma
import math
import re
import tarfile
import zipfile
import zlib
from array import array
from functools import partial
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
    its first vector is kept. Words that are not UTF-8, as in fastText's `cc.ko.300.vec`, and words
    of white space are skipped.

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
    error = partial(_line_error, path)
    words: Dict[str, None] = {}
    skipped: List[Tuple[str, int]] = []
    # A compact list of numbers, because a table can take several gigabytes.
    values = array("f")
    header: Optional[re.Match] = None
    dim = 0

    progress = Tqdm.tqdm(_lines(path), desc="reading word vectors", unit=" lines")
    for number, line in enumerate(progress, start=1):
        text = line.rstrip(" ")
        if number == 1:
            header = re.fullmatch(r"(\d+) +([1-9]\d*)", text)
            if header:
                dim = int(header[2])
                continue
        if len(words) == max_words:
            break
        if not text:
            raise error(number, line, "has no word")
        # Without a header, the first word contains no space, unless it is a space.
        dim = dim or text.lstrip(" ").count(" ") + text.startswith(" ")
        word, *numbers = text.rsplit(" ", dim) if dim else [text]
        if not dim:
            raise error(number, line, "has no vector")
        if len(numbers) < dim:
            raise error(number, line, f"has {len(numbers)} values instead of the {dim} of line 1")
        # If a word ends in a space or tab and a number, the number is probably a value too many.
        if word.strip() and re.search(r"[ \t]([-+]?\.?\d[-+.\de]*|nan)?$", word):
            raise error(number, line, f"has more than the {dim} values of line 1")
        try:
            vector = list(map(float, numbers))
        except ValueError as reason:
            raise error(number, line, f"has a value that is not a number ({reason})") from None
        if word in words or not word.strip() or _NOT_UTF8.search(word):
            skipped.append((word, number))
            continue
        words[word] = None
        values.extend(vector)
        if not math.isfinite(sum(values[-dim:])):
            remedy = "Remove the line, or train again."
            raise error(number, line, "has a value that is not finite", remedy)
    else:
        num_words = len(words) + len(skipped)
        if header and int(header[1]) != num_words:
            found = f"has {num_words} words, but {header[1]} according to its header"
            remedy = "It may be truncated: copy it again, or correct or remove the header."
            raise error(1, "", found, remedy)
        if not words:
            raise error(1, "", "has no words")
    if skipped:
        logger.warning(
            "%s has %d lines whose word is a repetition, not UTF-8 or white space, the first one "
            "%r in line %d. They are ignored.",
            path,
            len(skipped),
            skipped[0][0][:50],
            skipped[0][1],
        )
    return list(words), numpy.frombuffer(values, dtype=numpy.float32).reshape(len(words), dim)


def _line_error(
    path: str, number: int, line: str, found: str, remedy: str = _FORMAT
) -> InvalidFileError:
    if _NOT_UTF8.search(line):
        found, remedy = f"is not text: it {found}", "Save a binary word2vec file as text."
    return InvalidFileError(path, f"{found} in line {number}", remedy, _KIND)


def _lines(path: str) -> Iterator[str]:
    remedy = "Give a table of word vectors, as GloVe or word2vec writes it."
    again = "Copy or download it again."
    main_file = resolve_file(parse_embeddings_file_uri(path).main_file_uri, remedy, _KIND)
    with open(main_file, "rb") as archive:
        # `EmbeddingsTextFile` would take a truncated zip archive for text.
        if archive.read(4) == b"PK\x03\x04" and not zipfile.is_zipfile(archive):
            raise InvalidFileError(path, "is truncated: its end is missing", again, _KIND)
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
    appears once it is complete; a missing directory is created. `words` contain no white space, and
    `vectors` has the shape `(len(words), dim)`.
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
