"""Tables of word vectors in text format, as GloVe and word2vec write them."""

import logging
import lzma
import zlib
from array import array
from pathlib import Path
from typing import BinaryIO, Dict, List, NoReturn, Optional, Sequence, Tuple

import numpy
from allennlp.common import Tqdm
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile, parse_embeddings_file_uri

from allennlp_semfit.common.errors import InvalidFileError, resolve_file
from allennlp_semfit.common.output import write_file

__all__ = ["read_table", "write_table"]

logger = logging.getLogger(__name__)

_KIND = "Table of word vectors"
_FORMAT = "Each line must have a word and the values of its vector, separated by single spaces."


def read_table(path: str, *, max_words: Optional[int] = None) -> Tuple[List[str], numpy.ndarray]:
    """
    Reads word vectors in the text format of GloVe, word2vec and fastText's `.vec`: UTF-8, one word
    and its vector per line, separated by single spaces. The first line may be word2vec's header,
    the number of words and the dimension. Of a word that occurs more than once, as in
    `glove.840B.300d`, the first vector is kept.

    # Parameters

    path : `str`
        As for AllenNLP's `EmbeddingsTextFile`: a path or URL, compressed or not, or a file in an
        archive, `(glove.6B.zip)#glove.6B.100d.txt`.
    max_words : `int`, optional (default = `None`)
        Read only this many words, the most frequent ones in all these formats. The rest of the
        table is not checked.

    # Returns

    `List[str]`
        The words, in the order of the file. They may contain spaces, as in GloVe's largest table.
    `numpy.ndarray`
        Their vectors. Shape `(num_words, dim)`, `float32`.

    # Raises

    `InvalidFileError`
        If the file is missing, empty, or not such a table; if two vectors differ in length, or a
        value is not a finite number.
    """
    remedy = "Give a table of word vectors, as GloVe or word2vec writes it."
    resolve_file(parse_embeddings_file_uri(path).main_file_uri, remedy, _KIND)
    try:
        # Latin-1 has a character for each byte, so opening never fails on the encoding.
        file = EmbeddingsTextFile(path, encoding="latin-1")
    except (StopIteration, IndexError, AttributeError):
        # No line, no member of an archive, or only a directory.
        raise InvalidFileError(path, "is empty", remedy, _KIND) from None
    except (OSError, EOFError, ValueError, KeyError, zlib.error, lzma.LZMAError) as error:
        raise InvalidFileError(path, f"cannot be read ({error})", remedy, _KIND) from error
    with file:
        lines = file._handle.buffer
        # `EmbeddingsTextFile` keeps only one of the header's two numbers.
        lines.seek(0)
        try:
            return _Parser(path).parse(lines, max_words)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise InvalidFileError(path, f"cannot be read ({error})", remedy, _KIND) from error


class _Parser:
    """`line` is the number of the current line, for messages."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line = 0

    def parse(self, lines: BinaryIO, max_words: Optional[int]) -> Tuple[List[str], numpy.ndarray]:
        rows: Dict[str, int] = {}
        # Keys are line numbers.
        repeated: Dict[int, str] = {}
        # A compact list of numbers, because a table can take several gigabytes.
        values = array("f")
        header: Optional[Tuple[int, int]] = None
        dim = 0
        progress = Tqdm.tqdm(lines, desc="reading word vectors", unit=" lines")
        for self.line, line in enumerate(progress, start=1):
            text = self._decode(line).rstrip(" \r\n")
            if self.line == 1:
                header = _parse_header(text)
                if header is not None:
                    dim = header[1]
                    continue
            if len(rows) == max_words:
                break
            # Without a header, the first word has no space.
            dim = dim or text.count(" ")
            word, *numbers = text.rsplit(" ", dim) if dim else [text]
            self._check_fields(word, numbers, dim)
            if word in rows:
                repeated[self.line] = word
                continue
            rows[word] = len(rows)
            try:
                values.extend(map(float, numbers))
            except ValueError:
                wrong = next(number for number in numbers if not _is_number(number))
                self._fail(f"has the value {wrong[:50]!r}, which is not a number,", _FORMAT)
        else:
            self._check_header(header, len(rows) + len(repeated))
        matrix = numpy.frombuffer(values, dtype=numpy.float32).reshape(len(rows), dim)
        finite = numpy.isfinite(matrix).all(axis=1)
        if not finite.all():
            self.line = int(finite.argmin()) + 1 + (header is not None)
            for line in repeated:
                self.line += line <= self.line
            self._fail("has a value that is not finite", "Remove the line, or train again.")
        if repeated:
            line, word = next(iter(repeated.items()))
            logger.warning(
                "%s has %d lines for words that it had before, the first one for %r in line %d. "
                "They are ignored.",
                self.path,
                len(repeated),
                word[:50],
                line,
            )
        return list(rows), matrix

    def _decode(self, line: bytes) -> str:
        try:
            return line.decode("utf-8-sig" if self.line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            self._fail(
                f"is not UTF-8: byte 0x{line[error.start]:02x}",
                "Convert the file, for instance with `iconv -t UTF-8`, or remove the line. Save a "
                "binary word2vec file as text.",
            )

    def _check_fields(self, word: str, numbers: List[str], dim: int) -> None:
        if not dim or not word:
            self._fail("has no vector" if word else "has no word", _FORMAT)
        if len(numbers) < dim:
            self._fail(f"has {len(numbers)} values instead of the {dim} of line 1", _FORMAT)
        # Rather a value too many than a word with a space.
        if _is_number(word.rpartition(" ")[2]) and " " in word or word.endswith(" "):
            self._fail(f"has more than the {dim} values of line 1", _FORMAT)

    def _check_header(self, header: Optional[Tuple[int, int]], num_words: int) -> None:
        if header is not None and header[0] != num_words:
            self.line = 1
            self._fail(
                f"has {num_words} words, but {header[0]} according to its header",
                "It may be truncated: copy it again, or correct or remove the header.",
            )
        if not num_words:
            self._fail("has no words", _FORMAT)

    def _fail(self, found: str, remedy: str) -> NoReturn:
        raise InvalidFileError(self.path, f"{found} in line {self.line}", remedy, _KIND)


def _parse_header(text: str) -> Optional[Tuple[int, int]]:
    fields = text.split()
    if len(fields) != 2 or not all(field.isdecimal() for field in fields):
        return None
    num_words, dim = map(int, fields)
    return (num_words, dim) if dim else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_table(
    path: Path, words: Sequence[str], vectors: numpy.ndarray, *, force: bool = True
) -> None:
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
    force : `bool`, optional (default = `True`)
        Whether an existing file may be replaced.
    """
    num_words, dim = vectors.shape
    with (
        write_file(path, force=force) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(f"{num_words} {dim}\n")
        row_format = "%s" + dim * " %.6g" + "\n"
        for word, vector in zip(words, vectors):
            file.write(row_format % (word, *vector.tolist()))
