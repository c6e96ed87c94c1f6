"""The words from which `allennlp_semfit.subwords.bpe_worker` learns, written as it reads them."""

from collections import Counter
from pathlib import Path
from typing import Counter as CounterType
from typing import Dict, NamedTuple, Sequence, Tuple

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN, DEFAULT_PADDING_TOKEN
from tokenizers.pre_tokenizers import ByteLevel

from allennlp_semfit.corpus.vocabulary import NEWLINE

__all__ = ["COUNT_LIMIT", "LONGEST_WORD", "RESERVED", "SpelledWords", "to_byte_level"]

RESERVED = (DEFAULT_PADDING_TOKEN, DEFAULT_OOV_TOKEN, NEWLINE)
"""What has a meaning of its own in AllenNLP's vocabulary, and so can be no subword of a word."""

LONGEST_WORD = 1000
"""In characters. The time that a merge takes grows with the length of the words that it is in."""

COUNT_LIMIT = 2**31
"""`tokenizers` counts pairs in 32 bits with a sign, and does not notice when there are more."""


class SpelledWords(NamedTuple):
    """
    # Parameters

    num_words : `int`
        Each as often as it occurs.
    distinct_bytes : `int`
        Of all words, each once, with the space before it.
    """

    num_words: int
    distinct_bytes: int


def to_byte_level(
    counts: Dict[str, int], path: Path, *, boundary_tokens: Sequence[str]
) -> SpelledWords:
    """
    Writes a word in each line, spelled in the characters that stand for its bytes and for the space
    before it, then a space and how often the word occurs.

    Words that hold a boundary token, or one of AllenNLP's own, are left out, so that no subword
    becomes one of these. A word of more than `LONGEST_WORD` characters is written as several.

    # Parameters

    counts : `Dict[str, int]`
    path : `Path`
    boundary_tokens : `Sequence[str]`

    # Returns

    `SpelledWords`
        Of those that were written.

    # Raises

    `ConfigurationError`
        If the corpus is too large for `tokenizers` to count its pairs.
    """
    byte_level = ByteLevel(add_prefix_space=True, use_regex=False)
    reserved = {*boundary_tokens, *RESERVED}
    num_words = num_bytes = distinct_bytes = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for word, count in Tqdm.tqdm(counts.items(), desc="spelling words"):
            for start in range(0, len(word), LONGEST_WORD):
                part = word[start : start + LONGEST_WORD]
                spelled = byte_level.pre_tokenize_str(part)[0][0]
                if word in reserved or any(token in spelled for token in reserved):
                    continue
                file.write(f"{spelled} {count}\n")
                num_words += count
                num_bytes += count * len(spelled)
                distinct_bytes += len(spelled)
    if num_bytes >= COUNT_LIMIT:
        _check_pair_counts(path)
    return SpelledWords(num_words, distinct_bytes)


def _check_pair_counts(path: Path) -> None:
    pairs: CounterType[Tuple[str, str]] = Counter()
    with path.open(encoding="utf-8", newline="\n") as file:
        for spelled, count in map(str.split, file):
            for pair in zip(spelled, spelled[1:]):
                pairs[pair] += int(count)
    (pair, most) = pairs.most_common(1)[0]
    if most >= COUNT_LIMIT:
        raise ConfigurationError(
            f"the corpus is too large: the bytes {''.join(pair)} are side by side {most:,} times, "
            "and `tokenizers` counts to 2^31; give a part of the files, which is as good"
        )
