"""Text files as configs and commands name them: found, and read with a check of their encoding."""

import glob
import os
from pathlib import Path
from typing import BinaryIO, Iterator, List, Sequence, Union

from allennlp.common.checks import ConfigurationError

__all__ = ["find_text_files", "read_text"]

CHUNK_SIZE = 2**20


def find_text_files(
    paths: Sequence[Union[str, os.PathLike]], *, exclude: Sequence[Path] = ()
) -> List[Path]:
    """
    Lists the files that some paths name.

    # Parameters

    paths : `Sequence[Union[str, os.PathLike]]`
        Each is a file, a directory, which stands for the files directly in it, or a glob, in which
        `**` stands for any depth. What a directory or a glob gives is sorted, without hidden files.
    exclude : `Sequence[Path]`, optional (default = `()`)
        Files that a directory or a glob does not stand for.

    # Returns

    `List[Path]`

    # Raises

    `ConfigurationError`
        If a path names no file.
    """
    excluded = {path.resolve() for path in exclude}
    files: List[Path] = []
    for entry in map(str, paths):
        path = Path(entry)
        if path.is_dir():
            candidates = sorted(path.iterdir())
        elif path.exists():
            files.append(path)
            continue
        else:
            candidates = sorted(map(Path, glob.glob(entry, recursive=True)))
            if not candidates:
                raise ConfigurationError(
                    f"{entry}: there is no such file or directory, and as a glob it matches "
                    "nothing; check the name"
                )
        found = [
            candidate
            for candidate in candidates
            if candidate.is_file()
            and not candidate.name.startswith(".")
            and candidate.resolve() not in excluded
        ]
        if not found:
            raise ConfigurationError(f"{entry}: there are no files in it; give one with text")
        files.extend(found)
    return files


def read_text(path: Path) -> Iterator[bytes]:
    """
    Reads a file chunk by chunk.

    # Parameters

    path : `Path`

    # Returns

    `Iterator[bytes]`
        Chunks of about a megabyte that end where a word ends, each checked to be UTF-8.

    # Raises

    `ConfigurationError`
        If the file cannot be read or is not UTF-8.
    """
    offset = 0
    num_lines = 0
    unfinished_word = b""
    with _open(path) as file:
        while True:
            chunk = file.read(CHUNK_SIZE)
            text = unfinished_word + chunk
            if not text:
                return
            is_finished = not chunk or text[-1:].isspace()
            unfinished_word = b"" if is_finished else text.rsplit(None, 1)[-1]
            text = text[: len(text) - len(unfinished_word)]
            try:
                text.decode("utf-8")
            except UnicodeDecodeError as error:
                line = num_lines + text.count(b"\n", 0, error.start) + 1
                raise ConfigurationError(
                    f"{path}: not UTF-8: byte 0x{text[error.start]:02x} in line {line} (at offset "
                    f"{offset + error.start}); convert it, as iconv does, or remove the line"
                ) from None
            yield text
            offset += len(text)
            num_lines += text.count(b"\n")


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise ConfigurationError(
            f"{path}: it cannot be read ({error.strerror}); change that, or leave it out"
        ) from error
