"""The vocabulary of a corpus, counted and written in AllenNLP's format."""

import logging
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import namespace_match
from allennlp.data import Vocabulary
from allennlp.data.vocabulary import (
    DEFAULT_NON_PADDED_NAMESPACES,
    DEFAULT_OOV_TOKEN,
    DEFAULT_PADDING_TOKEN,
    NAMESPACE_PADDING_FILE,
)

from allennlp_semfit.common.parallel import available_cpus
from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.word_counts import count_words, find_word, sort_by_frequency

__all__ = [
    "DEFAULT_BOUNDARY_TOKEN",
    "NEWLINE",
    "VocabularySummary",
    "VocabularyWriter",
    "count_vocabulary",
]

logger = logging.getLogger(__name__)

DEFAULT_BOUNDARY_TOKEN = "</s>"
"""The one boundary token that every fastText model knows: it counts each line end as this word."""

NEWLINE = "@@NEWLINE@@"
"""What the files hold for the end of a line: a word that has it inside comes back changed."""


class VocabularySummary(NamedTuple):
    """
    # Parameters

    num_sentences : `int`
    num_words : `int`
        The words of the corpus, each as often as it occurs, without boundary tokens.
    num_types : `int`
        The same, each once.
    vocabulary_size : `int`
        The words of the vocabulary, boundary tokens included, padding and `@@UNKNOWN@@` not.
    kept_share : `float`
        The share of `num_words` that the vocabulary holds. The rest is read as `@@UNKNOWN@@`.
    seconds : `float`
    """

    num_sentences: int
    num_words: int
    num_types: int
    vocabulary_size: int
    kept_share: float
    seconds: float


def count_vocabulary(
    corpus: Sequence[Union[str, os.PathLike]],
    out_dir: Union[str, os.PathLike],
    *,
    min_count: int = 1,
    max_size: Optional[int] = None,
    start_tokens: Optional[List[str]] = None,
    end_tokens: Optional[List[str]] = None,
    namespace: str = "tokens",
    num_workers: Optional[int] = None,
    force: bool = False,
) -> VocabularySummary:
    """
    Makes a vocabulary for `"vocabulary": {"type": "from_files", "directory": out_dir}`. The padding
    has index 0 and `@@UNKNOWN@@` 1; then come the words in falling order of frequency, and in order
    of their code points where that is the same.

    Words that contain `@@NEWLINE@@` are left out: AllenNLP's files would give them back changed.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        Files, directories and globs of text, UTF-8, one tokenised sentence a line.
    out_dir : `Union[str, os.PathLike]`
        The directories above it are made if they are missing. The vocabulary appears in it whole.
    min_count : `int`, optional (default = `1`)
        Rarer words are left out.
    max_size : `int`, optional (default = `None`)
        The most words, boundary tokens included, padding and `@@UNKNOWN@@` not.
    start_tokens : `List[str]`, optional (default = `None`)
        Counted once for each line that has a word. `None` means those of `LanguageModelingReader`.
    end_tokens : `List[str]`, optional (default = `None`)
        Likewise.
    namespace : `str`, optional (default = `"tokens"`)
    num_workers : `int`, optional (default = `None`)
        Processes that count, by default one for each CPU. The vocabulary does not depend on it.
    force : `bool`, optional (default = `False`)
        Whether to replace a vocabulary that is already in `out_dir`.

    # Returns

    `VocabularySummary`

    # Raises

    `ConfigurationError`
        If an option or `out_dir` is wrong, which shows before the counting; or if the corpus cannot
        be read, holds the word `@@PADDING@@`, or has no word that is frequent enough. Then nothing
        is left in `out_dir`, or what was there before.
    """
    started = time.monotonic()
    workers = available_cpus() if num_workers is None else num_workers
    for option, value in (
        ("--min-count", min_count),
        ("--max-size", max_size),
        ("--num-workers", workers),
    ):
        if value is not None and value < 1:
            raise ConfigurationError(f"{option}: {value}; it takes 1 or more")
    boundaries = _boundaries(start_tokens, end_tokens)
    vocabulary = VocabularyWriter(Path(out_dir), namespace)
    vocabulary.check_vacant(force=force)
    files = find_text_files(corpus, exclude=vocabulary.paths)

    counts, num_sentences = count_words(files, num_workers=workers)
    num_words, num_types = sum(counts.values()), len(counts)
    _remove_special_words(counts, files)
    for token in boundaries:
        counts[token] = counts.get(token, 0) + num_sentences
    words = sort_by_frequency(counts, min_count=min_count)[:max_size]
    if not words:
        raise ConfigurationError(
            f"--min-count: no word occurs {min_count} times or more; lower it, or give more text"
        )
    vocabulary.write(words)
    for token in boundaries:
        counts[token] -= num_sentences
    return VocabularySummary(
        num_sentences=num_sentences,
        num_words=num_words,
        num_types=num_types,
        vocabulary_size=len(words),
        kept_share=sum(map(counts.__getitem__, words)) / num_words,
        seconds=time.monotonic() - started,
    )


def _boundaries(start_tokens: Optional[List[str]], end_tokens: Optional[List[str]]) -> List[str]:
    start = [DEFAULT_BOUNDARY_TOKEN] if start_tokens is None else start_tokens
    end = [DEFAULT_BOUNDARY_TOKEN] if end_tokens is None else end_tokens
    special = (DEFAULT_PADDING_TOKEN, DEFAULT_OOV_TOKEN, NEWLINE)
    for option, tokens in (("start", start), ("end", end)):
        for token in tokens:
            is_text = not re.search("[\ud800-\udfff]", token)
            if token.split() != [token] or not is_text or any(word in token for word in special):
                raise ConfigurationError(
                    f"--{option}-tokens: {ascii(token)}; each is a word in UTF-8, without "
                    f"{', '.join(special)}"
                )
    return [*start, *end]


def _remove_special_words(counts: Dict[str, int], files: Sequence[Path]) -> None:
    """Removes the words that the vocabulary cannot hold, or holds already as the unknown one."""
    if DEFAULT_PADDING_TOKEN in counts:
        path, line = find_word(files, DEFAULT_PADDING_TOKEN)
        raise ConfigurationError(
            f"{path}: line {line} holds the word {DEFAULT_PADDING_TOKEN}, which AllenNLP takes for "
            "the padding after a sentence; write it in another way"
        )
    counts.pop(DEFAULT_OOV_TOKEN, None)
    changed = [word for word in counts if NEWLINE in word]
    for word in changed:
        del counts[word]
    if changed:
        logger.warning(
            "%s words with %s in them are left out, since the files of AllenNLP's vocabulary "
            "would give them back changed; they will be read as %s.",
            f"{len(changed):,}",
            NEWLINE,
            DEFAULT_OOV_TOKEN,
        )


class VocabularyWriter:
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
