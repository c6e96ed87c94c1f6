"""Files with one tokenized sentence per line."""

from pathlib import Path
from typing import Iterator, Tuple

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.text_files import read_lines, read_text


class SentencesFile:
    """
    UTF-8 text with one tokenized sentence per line. It can be read repeatedly.

    # Raises

    `ConfigurationError`
        If there is no such file.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            found = "it is not a regular file" if path.exists() else "there is no such file"
            raise ConfigurationError(f"{path}: {found}; give text with one sentence per line")
        self.path = path

    def summarize(self) -> Tuple[int, int]:
        """
        # Returns

        `Tuple[int, int]`
            The number of lines, including empty ones, and of words.

        # Raises

        `ConfigurationError`
            If the file is not UTF-8, or has no word.
        """
        num_lines, num_words = 0, 0
        for text in read_text(self.path):
            num_lines += text.count("\n")
            num_words += len(text.split())
        if not num_words:
            raise ConfigurationError(
                f"{self.path}: it has no words; give text with a tokenized sentence per line"
            )
        return num_lines, num_words

    def identify(self) -> Tuple[str, int, int]:
        """The file's path, size and time of modification."""
        stat = self.path.stat()
        return str(self.path.resolve()), stat.st_size, stat.st_mtime_ns

    def __iter__(self) -> Iterator[str]:
        """Yields each line, without leading and trailing white space."""
        return map(str.strip, read_lines(self.path))
