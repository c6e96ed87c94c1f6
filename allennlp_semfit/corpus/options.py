"""
What a user chooses about a corpus, and what the user is told about it.
"""

from dataclasses import dataclass
from typing import NamedTuple, Optional

from allennlp.common.checks import ConfigurationError

# Each shard is an open file.
_MAX_SHARDS = 500


@dataclass(frozen=True)
class CorpusOptions:
    """
    What decides how a corpus looks.

    # Parameters

    language : `str`, optional (default = `"en"`)
        The spaCy language whose rules split text into words; `"xx"` for one that it does not list.
    already_tokenized : `bool`, optional (default = `False`)
        Whether each line of the input is one sentence with spaces between its tokens, to be kept.
    num_shards : `int`, optional (default = `10`)
        How many files the training text is spread over.
    held_out : `float`, optional (default = `0.01`)
        The share of all sentences that is held out, in whole articles or blocks of lines.
    min_words : `int`, optional (default = `1`)
        Sentences with fewer tokens are left out.
    max_sentences : `Optional[int]`, optional (default = `None`)
        Stop at the end of the document that reaches so many sentences.

    # Raises

    `ConfigurationError`
        When a number is out of its range.
    """

    language: str = "en"
    already_tokenized: bool = False
    num_shards: int = 10
    held_out: float = 0.01
    min_words: int = 1
    max_sentences: Optional[int] = None

    def __post_init__(self) -> None:
        check_range("num_shards", self.num_shards, 1, _MAX_SHARDS)
        check_range("held_out", self.held_out, 0, 0.5)
        check_range("min_words", self.min_words, 1, None)
        if self.max_sentences is not None:
            check_range("max_sentences", self.max_sentences, 1, None)


class CorpusSummary(NamedTuple):
    """
    What a corpus holds.

    # Parameters

    documents : `int`
        Articles, or blocks of lines.
    sentences : `int`
        Held-out ones included.
    words : `int`
        Held-out ones included.
    shards : `int`
    held_out_sentences : `int`
    seconds : `float`
        What making it took.
    made_before : `bool`
        Whether it was already there, made from the same input with the same options.
    """

    documents: int
    sentences: int
    words: int
    shards: int
    held_out_sentences: int
    seconds: float
    made_before: bool = False


def check_range(name: str, value: float, low: float, high: Optional[float]) -> None:
    """
    # Parameters

    name : `str`
        Of an option.
    value : `float`
    low : `float`
    high : `Optional[float]`
        `None` for no limit.

    # Raises

    `ConfigurationError`
        When the value lies outside.
    """
    # Written so that NaN fails.
    if not (value >= low and (high is None or value <= high)):
        wanted = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ConfigurationError(f"{name} is {value}, and must be {wanted}.")
