from dataclasses import dataclass
from typing import Literal, Optional, get_args

from allennlp.common.checks import ConfigurationError

from allennlp_semfit.common.errors import check_bounds, check_choice

Lines = Literal["auto", "paragraphs", "wrapped"]

# Each shard is an open file.
_MAX_SHARDS = 500


@dataclass(frozen=True)
class CorpusOptions:
    """
    The options for preparing a corpus.

    # Parameters

    language : `str`, optional (default = `"en"`)
        The code of the spaCy language for the tokenizer, or `"xx"` for a language that spaCy does
        not support.
    already_tokenized : `bool`, optional (default = `False`)
        Whether to take each line as one sentence, its tokens separated by spaces.
    lines : `Literal["auto", "paragraphs", "wrapped"]`, optional (default = `"auto"`)
        What a line of text is: one or more whole sentences (paragraphs), or part of a paragraph
        that ends at the next blank line (wrapped). `"auto"` decides by the start of each input,
        warns where it joins lines, and raises an error where they are not text.
    field : `Optional[str]`, optional (default = `None`)
        The field with the text, for JSON lines, CSV, TSV, Parquet or a dataset of the Hugging Face
        Hub.
    subset : `Optional[str]`, optional (default = `None`)
        The subset (configuration) of the Hub's dataset, such as `"20231101.yo"`.
    split : `str`, optional (default = `"train"`)
        The split of the Hub's dataset.
    num_shards : `int`, optional (default = `10`)
        The number of files for the training text.
    validation_fraction : `Optional[float]`, optional (default = `None`)
        The fraction of sentences for validation, from 0 to 0.5, in whole articles, rows or blocks
        of lines. By default, 5% for up to 20,000 sentences; for n sentences beyond that,
        7/sqrt(n).
    max_sentences : `Optional[int]`, optional (default = `None`)
        Stop after the article, row or block of lines that reaches this number of sentences.

    # Raises

    `ConfigurationError`
        If a number is out of range, or `lines` is unknown or contradicts `already_tokenized`.
    """

    language: str = "en"
    already_tokenized: bool = False
    lines: Lines = "auto"
    field: Optional[str] = None
    subset: Optional[str] = None
    split: str = "train"
    num_shards: int = 10
    validation_fraction: Optional[float] = None
    max_sentences: Optional[int] = None

    def __post_init__(self) -> None:
        check_choice("--lines", self.lines, get_args(Lines))
        if self.already_tokenized and self.lines == "wrapped":
            raise ConfigurationError(
                "--lines wrapped: with --already-tokenized, each line is a sentence; leave one out"
            )
        check_bounds({"--num-shards": self.num_shards}, at_least=1, at_most=_MAX_SHARDS)
        check_bounds({"--validation-fraction": self.validation_fraction}, at_least=0, at_most=0.5)
        check_bounds({"--max-sentences": self.max_sentences}, at_least=1)
