"""
Finds out what the input files are and streams documents from them.
"""

import bz2
import codecs
import gzip
import lzma
import os
import re
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import (
    IO,
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)
from xml.etree.ElementTree import ParseError

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.wikipedia import read_articles

_DECOMPRESSORS: Dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "a zstandard file",
}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DUMP_START = re.compile(r"\ufeff?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<mediawiki[\s>]", re.DOTALL)

_HEAD_BYTES = 1 << 16
# What is held of one line of text at a time. A longer line goes on as if it were several.
_MAX_LINE_BYTES = 1 << 20
_MAX_BLOCK_LINES = 64
_MAX_BLOCK_CHARACTERS = 1 << 18


class Document(NamedTuple):
    """
    What is held out, or trained on, as a whole: an article, or a block of lines of a text file.

    # Parameters

    text : `str`
        An article's wiki markup, or lines of text.
    hidden_namespaces : `Optional[FrozenSet[str]]`
        `None` for text. For an article, the prefixes of links that are no text of it (`file`,
        `category`), in lower case, in the language of the dump.
    """

    text: str
    hidden_namespaces: Optional[FrozenSet[str]] = None


class Source(NamedTuple):
    """
    One input file.

    # Parameters

    path : `Path`
    size : `int`
        In bytes, as it lies on the disk.
    modified : `int`
        When it was last changed, in nanoseconds.
    is_dump : `bool`
        Whether it is a MediaWiki dump. Otherwise it is text.
    decompress : `Callable[[IO[bytes]], IO[bytes]]`
    """

    path: Path
    size: int
    modified: int
    is_dump: bool
    decompress: Callable[[IO[bytes]], IO[bytes]]


def find_sources(inputs: Sequence[Union[str, "os.PathLike[str]"]]) -> List[Source]:
    """
    # Parameters

    inputs : `Sequence[Union[str, os.PathLike]]`
        As `find_text_files` takes them: files, directories of files, patterns.

    # Returns

    `List[Source]`
        One for each file. Its beginning decides what kind of file it is, not its name.

    # Raises

    `ConfigurationError`
        When an input is missing, empty, or begins with something that is neither UTF-8 text nor a
        MediaWiki dump.
    """
    if not inputs:
        raise ConfigurationError("There is no input: name at least one file or directory.")
    return [_inspect(path) for path in find_text_files(inputs)]


def read_documents(sources: Iterable[Source], on_bytes: Callable[[int], Any]) -> Iterator[Document]:
    """
    # Parameters

    sources : `Iterable[Source]`
    on_bytes : `Callable[[int], Any]`
        Called with the number of bytes, as they lie on the disk, read since the last call.

    # Returns

    `Iterator[Document]`
        In the order of the input. No more than one document is held at a time.

    # Raises

    `ConfigurationError`
        When a file turns out to be cut short, damaged, or not UTF-8.
    """
    for source in sources:
        done = 0
        with open(source.path, "rb") as raw, _readable(source.path):
            stream = source.decompress(raw)
            documents = (
                (Document(*article) for article in read_articles(stream))
                if source.is_dump
                else _read_blocks(_read_lines(stream, source.path))
            )
            for document in documents:
                position = raw.tell()
                on_bytes(position - done)
                done = position
                yield document
        on_bytes(source.size - done)


def _inspect(path: Path) -> Source:
    if not path.is_file():
        raise ConfigurationError(f"The input {path} is neither a file nor a directory.")
    with open(path, "rb") as raw, _readable(path):
        magic = raw.read(6)
        for start, kind in _ARCHIVES.items():
            if magic.startswith(start):
                raise ConfigurationError(
                    f"The input {path} is {kind}. Unpack it first: what is read is text or a "
                    "MediaWiki dump, as it is or packed with gzip, bzip2 or xz."
                )
        decompress: Callable[[IO[bytes]], IO[bytes]] = next(
            (opener for start, opener in _DECOMPRESSORS.items() if magic.startswith(start)),
            lambda stream: stream,
        )
        raw.seek(0)
        head = decompress(raw).read(_HEAD_BYTES)
    stat = path.stat()
    if not head:
        raise ConfigurationError(f"The input {path} is empty: there is no text in it.")
    encoding = "utf-16" if head.startswith(_UTF16_MARKS) else "utf-8"
    is_dump = bool(_DUMP_START.match(head.decode(encoding, errors="replace")))
    if not is_dump:
        # Every other byte of UTF-16 is mostly zero, which UTF-8 allows and no text holds.
        if encoding == "utf-16" or head.count(0) * 4 > len(head):
            raise ConfigurationError(
                f"The input {path} looks like UTF-16 or no text at all, and must be UTF-8. "
                "Convert it first, with `iconv -f UTF-16 -t UTF-8` for instance."
            )
        _decode(codecs.getincrementaldecoder("utf-8")(), head, 0, path)
    return Source(path, stat.st_size, stat.st_mtime_ns, is_dump, decompress)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ConfigurationError(
            f"The input {path} cannot be read to its end: {error}. If it is a packed file, it is "
            "cut short or damaged: get it again."
        ) from error
    except ParseError as error:
        raise ConfigurationError(
            f"The input {path} begins as a MediaWiki dump, and goes on as something else: {error}. "
            "It is cut short or damaged: get it again."
        ) from error


def _decode(decoder: codecs.IncrementalDecoder, data: bytes, offset: int, path: Path) -> str:
    try:
        return decoder.decode(data)
    except UnicodeDecodeError as error:
        # The decoder may still have held the beginning of a character.
        position = offset + len(data) - len(error.object) + error.start
        raise _not_utf8(path, position) from error


def _not_utf8(path: Path, position: int) -> ConfigurationError:
    return ConfigurationError(
        f"The input {path} is not UTF-8: the byte at offset {position:,} of its text begins no "
        "character. Convert it first, with `iconv -f LATIN1 -t UTF-8` for instance."
    )


def _read_lines(stream: IO[bytes], path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    rest = ""
    for data in iter(lambda: stream.readline(_MAX_LINE_BYTES), b""):
        text = _decode(decoder, data, offset, path)
        if offset == 0:
            text = text.lstrip("\ufeff")
        offset += len(data)
        text, rest = rest + text, ""
        # Otherwise this is the end of the line, or of the file.
        if len(data) == _MAX_LINE_BYTES and not data.endswith(b"\n"):
            before, _, after = text.rpartition(" ")
            if before:
                text, rest = before, after
        yield text
    held, _ = decoder.getstate()
    if held:
        raise _not_utf8(path, offset - len(held))
    yield rest


def _read_blocks(lines: Iterable[str]) -> Iterator[Document]:
    block: List[str] = []
    characters = 0
    count = 0
    for line in lines:
        if not line.strip():
            continue
        block.append(line)
        characters += len(line)
        count += 1
        # The first blocks are small, so that something can be held out of a small file.
        if (
            len(block) >= min(_MAX_BLOCK_LINES, 1 + count // _MAX_BLOCK_LINES)
            or characters > _MAX_BLOCK_CHARACTERS
        ):
            yield Document("\n".join(block))
            block, characters = [], 0
    if block:
        yield Document("\n".join(block))
