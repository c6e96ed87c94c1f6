"""Files of one tokenised sentence a line."""

import hashlib
from codecs import BOM_UTF8
from pathlib import Path
from typing import Iterator, List, NamedTuple

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.text_files import read_text

__all__ = ["SentencesFile", "SentencesSummary"]


class SentencesSummary(NamedTuple):
    """
    # Parameters

    sha256 : `str`
        Of the file.
    num_sentences : `int`
        Its lines, empty ones included.
    num_words : `int`
    """

    sha256: str
    num_sentences: int
    num_words: int


class SentencesFile:
    """
    Text of one sentence a line, whose words have spaces between them. It may be read many times.

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

    def summarize(self) -> SentencesSummary:
        """
        Reads all of it.

        # Raises

        `ConfigurationError`
            If it is not UTF-8, or has no word.
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
        return SentencesSummary(digest.hexdigest(), num_lines + (last_byte != b"\n"), num_words)

    def __iter__(self) -> Iterator[str]:
        """Its lines, without the spaces at both ends."""
        with self.path.open("rb") as file:
            if file.read(len(BOM_UTF8)) != BOM_UTF8:
                file.seek(0)
            for line in file:
                yield line.decode("utf-8").strip()

    def windows(self, *, max_sentences: int, max_words: int) -> Iterator[List[List[str]]]:
        """
        # Parameters

        max_sentences : `int`
        max_words : `int`
            A sentence with more words is a window by itself.

        # Returns

        `Iterator[List[List[str]]]`
            Successive sentences, in words.
        """
        window: List[List[str]] = []
        num_words = 0
        for line in self:
            words = line.split()
            if window and (len(window) == max_sentences or num_words + len(words) > max_words):
                yield window
                window, num_words = [], 0
            window.append(words)
            num_words += len(words)
        if window:
            yield window
