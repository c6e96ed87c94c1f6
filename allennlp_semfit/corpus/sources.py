"""Detects the format of inputs and streams documents from them."""

import bz2
import codecs
import gzip
import logging
import lzma
import os
import re
import zlib
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import (
    IO,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)
from xml.etree.ElementTree import ParseError

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import check_not_compressed
from allennlp_semfit.common.text_files import find_text_files, read_lines, read_text
from allennlp_semfit.corpus.lines import (
    MAX_PARAGRAPH_CHARACTERS,
    are_wrapped,
    check_text,
    join_wrapped,
)
from allennlp_semfit.corpus.options import CorpusOptions
from allennlp_semfit.corpus.sentences import split_text
from allennlp_semfit.corpus.tables import (
    HEAD_ROWS,
    HUB,
    PARQUET,
    is_json,
    is_json_array,
    open_table,
    read_csv,
    read_json,
    read_texts,
    size_of_table,
)
from allennlp_semfit.corpus.wikipedia import Document, read_articles

logger = logging.getLogger(__name__)

_Decompress = Callable[[IO[bytes]], Any]
_DECOMPRESSORS: Dict[bytes, _Decompress] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
# A ZIP file whose first entry is of Word, Excel, LibreOffice or EPUB, and older Word files.
_OFFICE_START = re.compile(
    rb"PK\x03\x04(?s:.{26})(?:\[Content_Types\]|_rels/|docProps/|word/|xl/|mimetypeapplication/)"
    rb"|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
)
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DUMP_START = re.compile(
    # `.*?` in a comment would also match several comments, in exponentially many ways.
    r"\ufeff?\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->).)*-->\s*)*<mediawiki[\s>]",
    re.DOTALL,
)

_HEAD_BYTES = 1 << 16
_MAX_BLOCK_LINES = 64
_MAX_BLOCK_CHARACTERS = 1 << 18


class Source(NamedTuple):
    """
    A file or dataset. `size` is in bytes, 0 if it is unknown. `is_wrapped` is whether its lines
    are joined. `read` yields the documents, each with the number of bytes read so far.
    """

    name: str
    size: int
    is_wrapped: bool
    read: Callable[[], Iterator[Tuple[Document, int]]]


def find_sources(
    inputs: Sequence[Union[str, "os.PathLike[str]"]],
    options: CorpusOptions,
    outputs: Sequence[Path] = (),
) -> List[Source]:
    """
    Finds files, as `find_text_files` does, and datasets of the Hugging Face Hub, and detects the
    format of each file from its start, not from its name. Warns if lines are
    hard-wrapped or contain markup. Raises a `ConfigurationError` if an input is missing, empty or
    an output, or is neither UTF-8 text, a MediaWiki dump nor a dataset with the given field.
    """
    # A string would be a sequence of its characters.
    inputs = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    names = [os.fspath(entry) for entry in inputs]
    is_default = options.subset is None and options.split == CorpusOptions.split
    if not (is_default or any(name.startswith(HUB) for name in names)):
        raise ConfigurationError(
            f"--subset and --split select a part of a dataset at {HUB}…; leave them out"
        )
    sources: List[Source] = []
    for name in names:
        if name.startswith(HUB):
            dataset = open_table(name, options.field, subset=options.subset, split=options.split)
            full = [_table(name, partial(iter, dataset), options, size_of_table(dataset))]
        else:
            paths = find_text_files([name], outputs=outputs)
            # Some corpora have thousands of files, and each takes a few hundredths of a second.
            progress = Tqdm.tqdm(paths, desc="checking the inputs", unit=" files", delay=2)
            full = [source for path in progress if (source := _inspect(path, options))]
            # Empty files of a directory or glob are left out. If all are empty, it is an error.
            if not full:
                raise ConfigurationError(f"The input {paths[0]} is empty. Give a file with text.")
            if len(full) < len(paths):
                num_empty = len(paths) - len(full)
                logger.warning("%s: %s of %s files are empty.", name, num_empty, len(paths))
        if options.lines == "auto":
            _report_wrapped(name, full)
        sources += full
    return sources


def read_documents(sources: Iterable[Source], on_bytes: Callable[[int], Any]) -> Iterator[Document]:
    """
    Yields the documents in the order of the input, with one at a time in memory. Calls `on_bytes`
    with the number of bytes that were read since the last call. Raises a `ConfigurationError` if a
    file is truncated, damaged or not UTF-8.
    """
    for source in sources:
        position = 0
        for document, end in source.read():
            on_bytes(end - position)
            position = end
            yield document
        on_bytes(source.size - position)


def _report_wrapped(name: str, sources: Sequence[Source]) -> None:
    num_wrapped = sum(source.is_wrapped for source in sources)
    if num_wrapped == len(sources):
        logger.warning(
            "%s: its lines look hard-wrapped, so they are joined up to each blank line. If each "
            "line is a sentence or paragraph, use --lines paragraphs.",
            name,
        )
    elif num_wrapped:
        logger.warning(
            "%s: the lines of %s of its %s files look hard-wrapped and are joined up to each blank "
            "line; those of the others are not. Use --lines wrapped or --lines paragraphs for all.",
            name,
            num_wrapped,
            len(sources),
        )


def _inspect(path: Path, options: CorpusOptions) -> Optional[Source]:
    """`None` if the file is empty, compressed or not."""
    with open(path, "rb") as raw, _explain_read_errors(path):
        magic = raw.read(6)
        decompress: _Decompress = next(
            (opener for start, opener in _DECOMPRESSORS.items() if magic.startswith(start)),
            lambda stream: stream,
        )
        raw.seek(0)
        head = decompress(raw).read(_HEAD_BYTES)
    if _OFFICE_START.match(head):
        raise ConfigurationError(
            f"The input {path} is a file of Word or another office program. Save it as UTF-8 text "
            "first, or as CSV if it is a table."
        )
    check_not_compressed(head, path, "Only gzip, bzip2 and xz are read directly.", "input")
    if not head:
        return None
    size = path.stat().st_size
    encoding = "utf-16" if head.startswith(_UTF16_MARKS) else "utf-8"
    if _DUMP_START.match(head.decode(encoding, errors="replace")):
        _check_dump(path, options)
        return Source(str(path), size, False, partial(_read_file, path, decompress, read_articles))
    if head.startswith(b"%PDF-"):
        raise ConfigurationError(
            f"The input {path} is a PDF. Extract its text first, for instance with pdftotext."
        )
    if head.startswith(PARQUET):
        dataset = open_table(str(path), options.field)
        return _table(str(path), partial(iter, dataset), options, size)
    # In UTF-16, every other byte of most text is zero. Text in UTF-8 contains no zeros.
    if encoding == "utf-16" or head.count(0) * 4 > len(head):
        raise ConfigurationError(
            f"The input {path} looks like UTF-16 or is not text; it must be UTF-8. Convert it "
            "first, for instance with `iconv -f UTF-16 -t UTF-8`."
        )
    with open(path, "rb") as raw, _explain_read_errors(path):
        next(read_text(path, decompress(raw)), None)
    if options.field is not None:
        position = [] if is_json_array(head) else [0]
        read = partial(_read_rows, path, decompress, head, position)
        return _table(str(path), read, options, size, position)
    # The last line may be incomplete.
    lines = head.decode("utf-8-sig", errors="ignore").splitlines()
    lines = lines[: -1 if len(head) == _HEAD_BYTES else None] or lines
    is_wrapped = _is_wrapped(str(path), lines, options)
    blocks = partial(_read_blocks, path, is_wrapped=is_wrapped)
    return Source(str(path), size, is_wrapped, partial(_read_file, path, decompress, blocks))


def _table(
    name: str,
    read_rows: Callable[[], Iterable[Dict[str, Any]]],
    options: CorpusOptions,
    size: int,
    position: Sequence[int] = (),
) -> Source:
    """`position` has the number of bytes that `read_rows` has read, if that is known."""
    head = islice(read_texts(read_rows(), name, options.field), HEAD_ROWS)
    lines = [line for text in head for line in (*text.splitlines(), "")]
    is_wrapped = _is_wrapped(name, lines, options)

    def read() -> Iterator[Tuple[Document, int]]:
        characters = 0
        for text in read_texts(read_rows(), name, options.field):
            characters += len(text)
            end = position[0] if position else min(characters, size)
            yield Document("\n".join(_paragraphs(text.splitlines(), is_wrapped))), end

    return Source(name, size, is_wrapped, read)


def _is_wrapped(name: str, lines: Sequence[str], options: CorpusOptions) -> bool:
    if options.lines != "auto":
        return options.lines == "wrapped"
    check_text(name, lines)
    return not options.already_tokenized and are_wrapped(lines)


def _check_dump(path: Path, options: CorpusOptions) -> None:
    if options.already_tokenized:
        raise ConfigurationError(
            f"The input {path} is a MediaWiki dump, which is not tokenized: leave "
            "--already-tokenized out."
        )
    if find_spec("mwparserfromhell") is None:
        raise ConfigurationError(
            f"The input {path} is a MediaWiki dump, which requires the package "
            "mwparserfromhell. Install it: pip install mwparserfromhell"
        )


def _read_file(
    path: Path, decompress: _Decompress, read: Callable[[IO[bytes]], Iterator[Document]]
) -> Iterator[Tuple[Document, int]]:
    with open(path, "rb") as raw, _explain_read_errors(path):
        for document in read(decompress(raw)):
            yield document, raw.tell()


def _read_rows(
    path: Path, decompress: _Decompress, head: bytes, position: List[int]
) -> Iterator[Dict[str, Any]]:
    with open(path, "rb") as raw, _explain_read_errors(path):
        read = read_json if is_json(head) else read_csv
        for row in read(path, decompress(raw), head):
            if position:
                position[0] = raw.tell()
            yield row


@contextmanager
def _explain_read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ConfigurationError(
            f"The input {path} cannot be read to its end: {error}. If it is compressed, it is "
            "truncated or damaged: download it again."
        ) from error
    except ParseError as error:
        raise ConfigurationError(
            f"The input {path} starts like a MediaWiki dump, but is not valid XML: {error}. It is "
            "truncated or damaged: download it again."
        ) from error


def _paragraphs(lines: Iterable[str], is_wrapped: bool) -> Iterator[str]:
    if is_wrapped:
        lines = join_wrapped(lines)
    parts = chain.from_iterable(split_text(line, MAX_PARAGRAPH_CHARACTERS) for line in lines)
    return filter(str.strip, parts)


def _read_blocks(path: Path, stream: IO[bytes], *, is_wrapped: bool) -> Iterator[Document]:
    block: List[str] = []
    characters = 0
    paragraphs = _paragraphs(read_lines(path, stream, whole_lines=False), is_wrapped)
    for num_lines, line in enumerate(paragraphs, start=1):
        block.append(line)
        characters += len(line)
        # The first blocks are small, so that a small file has more than one.
        if (
            len(block) >= min(_MAX_BLOCK_LINES, 1 + num_lines // _MAX_BLOCK_LINES)
            or characters > _MAX_BLOCK_CHARACTERS
        ):
            yield Document("\n".join(block))
            block, characters = [], 0
    if block:
        yield Document("\n".join(block))
