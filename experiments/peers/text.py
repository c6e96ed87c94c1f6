from itertools import chain, repeat
from pathlib import Path
from typing import Iterator, Sequence

from allennlp.common.checks import ConfigurationError

__all__ = ["read_sentences", "repeat_sentences"]


def read_sentences(files: Sequence[Path]) -> Iterator[str]:
    """
    Yields the lines of the files, except empty ones.

    # Raises

    `ConfigurationError`
        If a file cannot be read as UTF-8.
    """
    for file in files:
        try:
            with file.open(encoding="utf-8", newline="\n") as lines:
                yield from filter(None, map(str.strip, lines))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{file}: it cannot be read as UTF-8 ({error})") from None


def repeat_sentences(files: Sequence[Path]) -> Iterator[str]:
    """Yields the sentences of `read_sentences` again and again."""
    return chain.from_iterable(map(read_sentences, repeat(files)))
