"""Processes a corpus in parallel, in chunks, and counts its words."""

from collections import Counter
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Sequence, TypeVar

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common import text_files
from allennlp_semfit.common.parallel import ordered_map
from allennlp_semfit.common.text_files import read_text

Result = TypeVar("Result")


class WordCounts(NamedTuple):
    """How often each word occurs, and the number of lines with at least one word."""

    counts: Counter[str]
    num_sentences: int


def count_words(files: Sequence[Path], *, num_workers: int = 1) -> WordCounts:
    """
    Counts the words as the `language_modeling` reader reads them by default: `str.split()`
    separates words, and a byte order mark at the start of a file is skipped. All counts are in
    memory, about 120 bytes for each distinct word of ten letters. Raises a `ConfigurationError` if
    there are no words, and what `map_chunks` raises.
    """
    counts: Counter[str] = Counter()
    num_sentences = 0
    with map_chunks(
        _count, files, num_workers=num_workers, description="counting words"
    ) as results:
        for result in results:
            counts.update(result.counts)
            num_sentences += result.num_sentences
    if not counts:
        raise ConfigurationError(
            f"{files[0]}{' and the other files' if files[1:] else ''}: no words found; give "
            "text with one sentence per line, as written by `allennlp prepare-corpus`"
        )
    return WordCounts(counts, num_sentences)


@contextmanager
def map_chunks(
    function: Callable[[str], Result],
    files: Sequence[Path],
    *,
    num_workers: int = 1,
    description: str,
    whole_lines: bool = False,
) -> Iterator[Iterator[Result]]:
    """
    A context manager that yields the results of `function`, which is pickled, for all chunks of
    `read_text`, in order, and shows progress. The workers run until the end of the block. With
    `num_workers` 1, none are started. Raises `ConfigurationError` if a file is not UTF-8, or if
    a worker dies.
    """
    size = sum(path.stat().st_size for path in files)
    progress = Tqdm.tqdm(total=size, unit="B", unit_scale=True, desc=description)
    results = ordered_map(
        function,
        chain.from_iterable(
            read_text(path, on_bytes=progress.update, whole_lines=whole_lines) for path in files
        ),
        num_workers=min(num_workers, -(-size // text_files.CHUNK_SIZE)),
    )
    with progress, closing(results):
        yield results


def sort_by_frequency(counts: Dict[str, int], *, min_count: int = 1) -> List[str]:
    """
    The words that occur `min_count` times or more, by decreasing frequency and then by code points.
    """
    words = (word for word, count in counts.items() if count >= min_count)
    return sorted(words, key=lambda word: (-counts[word], word))


def _count(text: str) -> WordCounts:
    # The text after the last line feed continues in the next chunk.
    num_sentences = sum(1 for line in text.split("\n")[:-1] if line and not line.isspace())
    return WordCounts(Counter(text.split()), num_sentences)
