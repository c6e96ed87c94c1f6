"""The vocabulary of a corpus, counted and written in AllenNLP's format."""

import logging
import os
import re
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

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.common.parallel import number_of_workers
from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN, find_text_files
from allennlp_semfit.corpus.word_counts import count_words, find_word, sort_by_frequency

__all__ = [
    "RESERVED",
    "VocabularySummary",
    "VocabularyWriter",
    "count_vocabulary",
    "frequent_words",
]

logger = logging.getLogger(__name__)

NEWLINE = "@@NEWLINE@@"
"""How the files write a line feed: AllenNLP reads a word that contains it as another word."""

RESERVED = (DEFAULT_PADDING_TOKEN, DEFAULT_OOV_TOKEN, NEWLINE)
"""What AllenNLP's vocabulary files give a special meaning."""


class VocabularySummary(NamedTuple):
    """
    `num_words` and `num_types` (distinct words) are without boundary tokens, `vocabulary_size` is
    with them, but without padding and `@@UNKNOWN@@`. `kept_share` is the share of `num_words` that
    is in the vocabulary. The rest is read as `@@UNKNOWN@@`.
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
    Writes a vocabulary for `"vocabulary": {"type": "from_files", "directory": out_dir}`. Padding
    has the index 0 and `@@UNKNOWN@@` 1; then come the words by descending frequency, and by code
    point where the frequency is the same.

    Words that contain `@@NEWLINE@@` are left out, because AllenNLP would read other words.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        Files, directories and globs of text, UTF-8, one tokenised sentence a line.
    out_dir : `Union[str, os.PathLike]`
        A directory for the vocabulary alone. It is made if it is missing.
    min_count : `int`, optional (default = `1`)
        Rarer words are left out.
    max_size : `int`, optional (default = `None`)
        The maximum size, with boundary tokens, without padding and `@@UNKNOWN@@`.
    start_tokens : `List[str]`, optional (default = `None`)
        Counted once for each line that has a word. The default is that of
        `LanguageModelingReader`.
    end_tokens : `List[str]`, optional (default = `None`)
        Counted in the same way, with the same default.
    namespace : `str`, optional (default = `"tokens"`)
    num_workers : `int`, optional (default = `None`)
        The number of processes that count, by default that of the CPUs. The vocabulary does not
        depend on it.
    force : `bool`, optional (default = `False`)
        Whether to replace a vocabulary in `out_dir`.

    # Returns

    `VocabularySummary`

    # Raises

    `ConfigurationError`
        If an option or `out_dir` is wrong, before anything is counted; or if the corpus cannot be
        read, contains the word `@@PADDING@@`, or has no word that is frequent enough. `out_dir`
        stays as it was.
    """
    started = time.monotonic()
    workers = number_of_workers(num_workers)
    check_bounds({"--min-count": min_count, "--max-size": max_size}, at_least=1)
    boundaries = _boundaries(start_tokens, end_tokens)
    vocabulary = VocabularyWriter(Path(out_dir), namespace)
    vocabulary.check_output_path(force=force)
    files = find_text_files(corpus, outputs=vocabulary.paths)

    counts, num_sentences = count_words(files, num_workers=workers)
    num_words, num_types = sum(counts.values()), len(counts)
    for token in boundaries:
        counts[token] = counts.get(token, 0) + num_sentences
    words = frequent_words(counts, files, min_count=min_count, max_size=max_size)
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


def frequent_words(
    counts: Dict[str, int], files: Sequence[Path], *, min_count: int, max_size: Optional[int]
) -> List[str]:
    """
    The words of a vocabulary, by descending frequency, and by code point where the frequency is the
    same. Words that a vocabulary cannot have, and `@@UNKNOWN@@`, are removed from `counts`.

    # Parameters

    counts : `Dict[str, int]`
        How often each word occurs, boundary tokens included.
    files : `Sequence[Path]`
        What was counted, for error messages.
    min_count : `int`
    max_size : `Optional[int]`

    # Raises

    `ConfigurationError`
        If the text has the word `@@PADDING@@`, or no word is frequent enough.
    """
    _remove_special_words(counts, files)
    words = sort_by_frequency(counts, min_count=min_count)[:max_size]
    if not words:
        raise ConfigurationError(
            f"--min-count: no word occurs {min_count} times or more; lower it, or give more text"
        )
    return words


def _boundaries(start_tokens: Optional[List[str]], end_tokens: Optional[List[str]]) -> List[str]:
    start = [DEFAULT_BOUNDARY_TOKEN] if start_tokens is None else start_tokens
    end = [DEFAULT_BOUNDARY_TOKEN] if end_tokens is None else end_tokens
    for option, tokens in (("start", start), ("end", end)):
        for token in tokens:
            is_text = not re.search("[\ud800-\udfff]", token)
            if token.split() != [token] or not is_text or any(word in token for word in RESERVED):
                raise ConfigurationError(
                    f"--{option}-tokens: {ascii(token)}; each is a word in UTF-8, without "
                    f"{', '.join(RESERVED)}"
                )
    return [*start, *end]


def _remove_special_words(counts: Dict[str, int], files: Sequence[Path]) -> None:
    """Removes `@@UNKNOWN@@`, which the vocabulary has anyway, and the words that it cannot have."""
    if DEFAULT_PADDING_TOKEN in counts:
        path, line = find_word(files, DEFAULT_PADDING_TOKEN)
        raise ConfigurationError(
            f"{path}: line {line} holds the word {DEFAULT_PADDING_TOKEN}, which AllenNLP takes for "
            "padding; write it in another way"
        )
    counts.pop(DEFAULT_OOV_TOKEN, None)
    changed = [word for word in counts if NEWLINE in word]
    for word in changed:
        del counts[word]
    if changed:
        logger.warning(
            "%s words with %s in them are left out, because AllenNLP would read other words from "
            "the vocabulary's files; they will be read as %s.",
            f"{len(changed):,}",
            NEWLINE,
            DEFAULT_OOV_TOKEN,
        )


class VocabularyWriter:
    """
    Writes a vocabulary in AllenNLP's format: padding has the index 0, `@@UNKNOWN@@` 1, and then
    come the words.

    # Raises

    `ConfigurationError`
        If AllenNLP would read another namespace from the files, or one without padding.
    """

    def __init__(self, directory: Path, namespace: str) -> None:
        if any(namespace_match(pattern, namespace) for pattern in DEFAULT_NON_PADDED_NAMESPACES):
            raise ConfigurationError(
                f"the namespace {namespace!r}: AllenNLP gives those that end in tags or labels "
                "neither padding nor a word for the unknown; take another name"
            )
        # The namespace is the name of a file: AllenNLP skips hidden ones, and removes ".txt"
        # anywhere in the name.
        if not re.fullmatch(r"[\w-]+", namespace) or f"{namespace}.txt" == NAMESPACE_PADDING_FILE:
            raise ConfigurationError(
                f"the namespace {namespace!r}: it takes letters, digits, _ and -, and is not "
                f"{Path(NAMESPACE_PADDING_FILE).stem}"
            )
        self._directory = directory.resolve()
        self._namespace = namespace
        # The last one is the same for every vocabulary, and AllenNLP needs it.
        self._contents = (f"{namespace}.txt", NAMESPACE_PADDING_FILE)
        self._force = True

    @property
    def paths(self) -> List[Path]:
        """The files of the vocabulary, whether they exist or not."""
        return [self._directory / name for name in self._contents]

    def check_output_path(self, *, force: bool) -> None:
        """
        Raises a `ConfigurationError` if the files cannot be written, or the directory has others:
        AllenNLP reads each file in it as a namespace, but for hidden ones. With `force`, an
        existing vocabulary may be replaced; otherwise `write` does not replace one that has
        appeared by then.
        """
        others = set(self._directory.glob("[!.]*")) - set(self.paths)
        if others:
            raise ConfigurationError(
                f"{self._directory}: it contains another file, {min(others).name}; give a "
                "directory for the vocabulary alone"
            )
        check_output_path(self._directory, contents=self._contents, force=force)
        self._force = force

    def write(self, words: Sequence[str]) -> None:
        """
        Writes the files, and replaces an existing vocabulary. The words are in their order, each
        once, without padding, `@@UNKNOWN@@` and words with `NEWLINE`.
        """
        vocabulary = Vocabulary(tokens_to_add={self._namespace: list(words)})
        with write_directory(self._directory, self._contents, force=self._force) as directory:
            vocabulary.save_to_files(str(directory))
            (directory / ".lock").unlink(missing_ok=True)
