"""What the trainings of all peers share: their text, and their time."""

import time
from itertools import chain, repeat
from pathlib import Path
from typing import Iterable, Iterator, Sequence, Tuple, TypeVar

from allennlp.common.checks import ConfigurationError

T = TypeVar("T")


def read_sentences(files: Sequence[Path]) -> Iterator[str]:
    """Yields the lines of the files, except empty ones."""
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as lines:
            yield from filter(None, map(str.strip, lines))


def repeat_sentences(files: Sequence[Path]) -> Iterator[str]:
    """Yields the sentences of `read_sentences` again and again."""
    return chain.from_iterable(map(read_sentences, repeat(files)))


class TrainingClock:
    """
    Times a training of so many seconds, which include its preparation, such as building a
    vocabulary. It runs as soon as it is created, and counts processor time, of all threads, so that
    other processes hardly matter.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begin = time.process_time()
        self._preparation_seconds = 0.0

    def _elapsed(self) -> float:
        return time.process_time() - self._begin

    def end_preparation(self) -> None:
        self._preparation_seconds = self._elapsed()
        if self._preparation_seconds >= self.seconds:
            raise ConfigurationError(
                f"the preparation took {self._preparation_seconds:.0f} of {self.seconds:.0f} "
                "seconds; give more minutes or less text"
            )

    def progress(self) -> float:
        """The elapsed fraction of the time after the preparation: at least 1 when it is over."""
        training_seconds = self.seconds - self._preparation_seconds
        return (self._elapsed() - self._preparation_seconds) / training_seconds

    def steps(self, batches: Iterable[T], warmup: float = 0.06) -> Iterator[Tuple[T, float]]:
        """Yields batches until the end, each with its factor of the learning rate."""
        for batch in batches:
            progress = self.progress()
            if progress >= 1.0:
                break
            yield batch, learning_rate_factor(progress, warmup)


def learning_rate_factor(progress: float, warmup: float = 0.06) -> float:
    """
    A linear warm-up from 0 to 1, then a linear decay to 0 at the end of the training. The default
    is RoBERTa's, as a fraction of its 500,000 updates.
    """
    if progress < warmup:
        return progress / warmup
    return max(0.0, (1.0 - progress) / (1.0 - warmup))
