"""Writes the files of a corpus: shards of training text and validation text."""

from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, List, Optional

from allennlp_semfit.common.text_files import RECORD, TRAIN

VALIDATION = "validation.txt"
CONTENTS = (f"{TRAIN}/", VALIDATION, RECORD)


class CorpusWriter:
    """
    A context manager that writes documents to shards and to a validation file.

    # Parameters

    directory : `Path`
        An empty directory.
    num_shards : `int`
        A document goes to the shard with the fewest words so far, so that processes that read one
        shard each have the same amount of work.
    validation_fraction : `Optional[float]`
        See `CorpusOptions`. Whole documents are taken at regular intervals or, with the default
        fraction, at growing ones.
    """

    def __init__(
        self, directory: Path, *, num_shards: int, validation_fraction: Optional[float]
    ) -> None:
        self._directory = directory
        self._num_shards = num_shards
        self._validation_fraction = validation_fraction
        self._files = ExitStack()
        self.shards: List[IO[str]] = []
        self._shard_words: List[int] = []
        self._validation_file: Optional[IO[str]] = None
        self.documents = 0
        self.sentences = 0
        self.words = 0
        self.validation_sentences = 0

    def __enter__(self) -> "CorpusWriter":
        (self._directory / TRAIN).mkdir()
        return self

    def __exit__(self, *_: Any) -> None:
        self._files.close()

    def add(self, lines: str, sentences: int, words: int) -> None:
        """Writes a document. `lines` contains its sentences, each with a line end."""
        if not sentences:
            return
        if self._is_for_validation():
            if self._validation_file is None:
                self._validation_file = self._open(VALIDATION)
            self._validation_file.write(lines)
            self.validation_sentences += sentences
        else:
            shard = self._emptiest_shard()
            self.shards[shard].write(lines)
            self._shard_words[shard] += words
        self.documents += 1
        self.sentences += sentences
        self.words += words

    def _is_for_validation(self) -> bool:
        # Ignore the length of the document itself, or long documents would never be chosen.
        if not self.documents:
            return False
        half_a_document = self.sentences / self.documents / 2
        return (
            self.validation_sentences + half_a_document <= self._current_fraction() * self.sentences
        )

    def _current_fraction(self) -> float:
        if self._validation_fraction is not None:
            return self._validation_fraction
        # The larger the text, the smaller the fraction that gives stable validation metrics.
        return min(max(7 / self.sentences**0.5, 0.01), 0.05)

    def _emptiest_shard(self) -> int:
        if len(self.shards) < self._num_shards:
            width = max(2, len(str(self._num_shards - 1)))
            self.shards.append(self._open(f"{TRAIN}/shard-{len(self.shards):0{width}d}.txt"))
            self._shard_words.append(0)
            return len(self.shards) - 1
        return self._shard_words.index(min(self._shard_words))

    def _open(self, name: str) -> IO[str]:
        return self._files.enter_context(
            open(self._directory / name, "w", encoding="utf-8", newline="\n")
        )
