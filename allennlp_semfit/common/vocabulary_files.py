"""A directory with AllenNLP's files of a vocabulary of words, in a given order."""

import os
import re
import tempfile
from pathlib import Path
from typing import List, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import namespace_match
from allennlp.data import Vocabulary
from allennlp.data.vocabulary import DEFAULT_NON_PADDED_NAMESPACES, NAMESPACE_PADDING_FILE

__all__ = ["NEWLINE", "VocabularyFiles"]

NEWLINE = "@@NEWLINE@@"
"""What the files hold for the end of a line: a word that has it inside comes back changed."""


class VocabularyFiles:
    """
    `Vocabulary.from_files` gives padding the index 0, `@@UNKNOWN@@` 1, and then come the words.

    # Parameters

    directory : `Path`
    namespace : `str`

    # Raises

    `ConfigurationError`
        If AllenNLP would read another namespace from the files, or one without padding.
    """

    def __init__(self, directory: Path, namespace: str) -> None:
        if any(namespace_match(pattern, namespace) for pattern in DEFAULT_NON_PADDED_NAMESPACES):
            raise ConfigurationError(
                f"the namespace {namespace!r}: those that end in tags or labels have neither "
                "padding nor a word for the unknown in AllenNLP; take another name"
            )
        # It is the name of a file. AllenNLP skips hidden ones, and drops ".txt" wherever it stands.
        if not re.fullmatch(r"[\w-]+", namespace) or f"{namespace}.txt" == NAMESPACE_PADDING_FILE:
            raise ConfigurationError(
                f"the namespace {namespace!r}: it takes letters, digits, _ and -, and is not "
                f"{Path(NAMESPACE_PADDING_FILE).stem}"
            )
        self._directory = directory.resolve()
        self._namespace = namespace

    @property
    def paths(self) -> List[Path]:
        """The files, whether they are there or not."""
        names = [f"{self._namespace}.txt", NAMESPACE_PADDING_FILE]
        return [self._directory / name for name in names]

    def check_vacant(self, *, force: bool) -> None:
        """
        # Parameters

        force : `bool`
            Whether to put up with files that are there already.

        # Raises

        `ConfigurationError`
            If the files cannot be written, or the directory holds others.
        """
        place = next(path for path in self.paths[0].parents if path.exists())
        if not place.is_dir():
            raise ConfigurationError(f"{place}: it is a file; give the vocabulary a directory")
        if not os.access(place, os.W_OK):
            raise ConfigurationError(f"{place}: not writable; give the vocabulary another place")
        # AllenNLP skips what is hidden, such as the lock that it leaves where it reads.
        found = set(self._directory.glob("[!.]*"))
        others = found - set(self.paths)
        if others:
            raise ConfigurationError(
                f"{self._directory}: it holds something else, {min(others).name}; name a directory "
                "for the vocabulary alone"
            )
        if found and not force:
            raise ConfigurationError(
                f"{self._directory}: there is a vocabulary; give another name, or --force to "
                "replace it"
            )

    def write(self, words: Sequence[str]) -> None:
        """
        Makes the directory if it is missing. The vocabulary appears in it whole.

        # Parameters

        words : `Sequence[str]`
            In their order, each once, without padding, `@@UNKNOWN@@` and words with `NEWLINE`.
        """
        vocabulary = Vocabulary(tokens_to_add={self._namespace: list(words)})
        existed = self._directory.exists()
        # In the directory if it is there, since it may be the top of another disk.
        place = self._directory if existed else self._directory.parent
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=place) as unfinished:
            # The temporary directory itself is for nobody else to read.
            made = Path(unfinished, "made")
            vocabulary.save_to_files(str(made))
            (made / ".lock").unlink(missing_ok=True)
            if not existed:
                os.replace(made, self._directory)
                return
            # The last one says the same for every vocabulary, and without it there is none.
            for path in self.paths:
                os.replace(made / path.name, path)
