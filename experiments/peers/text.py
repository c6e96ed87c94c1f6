from itertools import chain, repeat
from pathlib import Path
from typing import Iterator, Sequence

__all__ = ["read_sentences", "repeat_sentences"]


def read_sentences(files: Sequence[Path]) -> Iterator[str]:
    """Yields the lines of the files, except empty ones."""
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as lines:
            yield from filter(None, map(str.strip, lines))


def repeat_sentences(files: Sequence[Path]) -> Iterator[str]:
    """Yields the sentences of `read_sentences` again and again."""
    return chain.from_iterable(map(read_sentences, repeat(files)))
