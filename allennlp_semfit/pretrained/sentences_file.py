"""Files of one tokenised sentence a line."""

import hashlib
from codecs import BOM_UTF8
from pathlib import Path
from typing import Iterator, Tuple

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.text_files import read_text

__all__ = ["SentencesFile"]


class SentencesFile:
    """
    Text in UTF-8 with one sentence a line and spaces between words. It can be read many times.

    # Parameters

    path : `Path`

    # Raises

    `ConfigurationError`
        If there is no such file.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            found = "it is no regular file" if path.exists() else "there is no such file"
            raise ConfigurationError(f"{path}: {found}; give one with a tokenised sentence a line")
        self.path = path

    def summarize(self) -> Tuple[str, int, int]:
        """
        Reads the whole file.

        # Returns

        `Tuple[str, int, int]`
            The SHA-256 of the file, its number of lines, also empty ones, and of words.

        # Raises

        `ConfigurationError`
            If the file is not UTF-8, or has no word.
        """
        digest = hashlib.sha256()
        num_lines, num_words = 0, 0
        last_byte = b""
        for chunk in read_text(self.path):
            digest.update(chunk)
            num_lines += chunk.count(b"\n")
            num_words += len(chunk.decode("utf-8" if last_byte else "utf-8-sig").split())
            last_byte = chunk[-1:] or last_byte
        if not num_words:
            raise ConfigurationError(
                f"{self.path}: there is no word in it; give text with a tokenised sentence a line"
            )
        return digest.hexdigest(), num_lines + (last_byte != b"\n"), num_words

    def __iter__(self) -> Iterator[str]:
        """Yields each line, without white space at both ends."""
        with self.path.open("rb") as file:
            if file.read(len(BOM_UTF8)) != BOM_UTF8:
                file.seek(0)
            for line in file:
                yield line.decode("utf-8").strip()
