"""The vocabulary of a corpus, counted and written in AllenNLP's format."""

import os
import re
import time
from pathlib import Path
from typing import Counter, List, NamedTuple, Optional, Sequence, Tuple, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import namespace_match
from allennlp.data import Vocabulary
from allennlp.data.vocabulary import (
    DEFAULT_NON_PADDED_NAMESPACES,
    DEFAULT_OOV_TOKEN,
    NAMESPACE_PADDING_FILE,
)

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.common.output import check_output_path, write_directory
from allennlp_semfit.common.parallel import number_of_workers
from allennlp_semfit.common.text_files import DEFAULT_BOUNDARY_TOKEN, find_text_files
from allennlp_semfit.corpus.word_counts import count_words, sort_by_frequency


class VocabularySummary(NamedTuple):
    """
    `num_words` and `num_types` (distinct words) exclude boundary tokens. `vocabulary_size` includes
    them, but excludes padding and `@@UNKNOWN@@`. `kept_share` is the share of `num_words` that is
    in the vocabulary. The rest is read as `@@UNKNOWN@@`.
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
    Writes the words of a corpus as the vocabulary of a language model with a softmax: the most
    frequent first, and by code point where the frequency is the same. Words are counted as the
    default `language_modeling` reader reads them, but without its `max_sequence_length`. Counting
    takes about 300 bytes of memory per distinct word.

    In a configuration, the vocabulary is `{"type": "from_files", "directory": out_dir}`. Padding
    has the index 0 and `@@UNKNOWN@@` 1.

    # Parameters

    corpus : `Sequence[Union[str, os.PathLike]]`
        UTF-8 text with one tokenized sentence per line: files, directories (all files in them), or
        globs.
    out_dir : `Union[str, os.PathLike]`
        A directory for the vocabulary alone, created if missing.
    min_count : `int`, optional (default = `1`)
        Leave out words that occur less often.
    max_size : `int`, optional (default = `None`)
        Keep at most this many words, the most frequent, including boundary tokens but not
        `@@UNKNOWN@@` and padding.
    start_tokens : `List[str]`, optional (default = `None`)
        The tokens that the reader adds at the start of a sentence, counted once for each line that
        has a word; by default, `</s>`.
    end_tokens : `List[str]`, optional (default = `None`)
        The tokens that the reader adds at the end of a sentence, counted in the same way; by
        default, `</s>`.
    namespace : `str`, optional (default = `"tokens"`)
        The namespace of the vocabulary and its indexer.
    num_workers : `int`, optional (default = `None`)
        The number of processes that count; by default, one per CPU. The vocabulary does not depend
        on it.
    force : `bool`, optional (default = `False`)
        Whether to replace a vocabulary in `out_dir`.

    # Returns

    `VocabularySummary`

    # Raises

    `ConfigurationError`
        If an option or `out_dir` is invalid, the corpus cannot be read, or no word is frequent
        enough. `out_dir` is then unchanged.
    """
    started = time.monotonic()
    workers = number_of_workers(num_workers)
    check_bounds({"--min-count": min_count, "--max-size": max_size}, at_least=1)
    default = [DEFAULT_BOUNDARY_TOKEN]
    start = default if start_tokens is None else start_tokens
    end = default if end_tokens is None else end_tokens
    check_boundary_tokens("--start-tokens", start)
    check_boundary_tokens("--end-tokens", end)
    is_padded = not any(
        namespace_match(pattern, namespace) for pattern in DEFAULT_NON_PADDED_NAMESPACES
    )
    # The namespace is a file name. AllenNLP skips hidden files, and removes ".txt" anywhere in it.
    if not is_padded or not re.fullmatch(r"[\w-]+", namespace):
        raise ConfigurationError(
            f"--namespace must have only letters, digits, _ and -, and must not end in tags or "
            f"labels, for which AllenNLP has neither padding nor an unknown word, got {namespace!r}"
        )
    out = Path(out_dir)
    check_vocabulary_path(out, namespace, force=force)
    files = find_text_files(corpus, outputs=[out])

    counts, num_sentences = count_words(files, num_workers=workers)
    num_words, num_types = sum(counts.values()), len(counts)
    for token in (*start, *end):
        counts[token] += num_sentences
    words = frequent_words(counts, min_count=min_count, max_size=max_size)
    write_vocabulary(out, namespace, words)
    for token in (*start, *end):
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
    counts: Counter[str], *, min_count: int, max_size: Optional[int] = None
) -> List[str]:
    """
    The words of a vocabulary, by descending frequency, and by code point if the frequency is the
    same. Removes `@@UNKNOWN@@`, which every vocabulary contains, from `counts`.

    # Raises

    `ConfigurationError`
        If no word is frequent enough.
    """
    del counts[DEFAULT_OOV_TOKEN]
    words = sort_by_frequency(counts, min_count=min_count)[:max_size]
    if not words:
        raise ConfigurationError(
            f"--min-count: no word occurs {min_count} times or more; lower it, or give more text"
        )
    return words


def check_boundary_tokens(option: str, tokens: Sequence[str]) -> None:
    """Raises a `ConfigurationError` if a vocabulary cannot contain one of the tokens."""
    for token in tokens:
        if token.split() != [token] or not token.isprintable():
            raise ConfigurationError(
                f"{option}: {ascii(token)}; each must be a word of printable characters"
            )


def check_vocabulary_path(directory: Path, namespace: str, *, force: bool) -> None:
    """
    Raises a `ConfigurationError` if the files cannot be written, or the directory contains others:
    AllenNLP reads each file that is not hidden as a namespace. With `force`, an existing vocabulary
    may be replaced.
    """
    contents = _contents(namespace)
    others = {path.name for path in directory.glob("[!.]*")} - {*contents}
    if others:
        raise ConfigurationError(
            f"{directory}: it contains another file, {min(others)}; give a directory for the "
            "vocabulary alone"
        )
    check_output_path(directory, contents=contents, force=force)


def write_vocabulary(directory: Path, namespace: str, words: Sequence[str]) -> None:
    """
    Writes a vocabulary in AllenNLP's format: padding has the index 0, `@@UNKNOWN@@` 1, and then
    follow the words, which must be distinct.
    """
    vocabulary = Vocabulary(tokens_to_add={namespace: list(words)})
    with write_directory(directory, _contents(namespace)) as unfinished:
        vocabulary.save_to_files(str(unfinished))
        (unfinished / ".lock").unlink(missing_ok=True)


def _contents(namespace: str) -> Tuple[str, str]:
    # The last file marks the vocabulary as complete: AllenNLP needs it for any namespace.
    return f"{namespace}.txt", NAMESPACE_PADDING_FILE
