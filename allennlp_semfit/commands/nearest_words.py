"""
The `nearest-words` subcommand shows which words a language model predicts at each position of a
text.

    allennlp nearest-words output/elmo_semfit/model.tar.gz sentences.txt --words corpus/train
"""

import argparse
import json
import logging
import sys
from collections import Counter
from pathlib import Path
from typing import Counter as CounterType
from typing import List, Sequence

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

from allennlp_semfit.commands.options import (
    add_progress_option,
    apply_progress_option,
    exit_on_error,
    no_params_logged,
)
from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.word_counts import count_words, sort_by_frequency
from allennlp_semfit.models.archive import load_config
from allennlp_semfit.pretrained.nearest_words import (
    CORRECTIONS,
    DIRECTIONS,
    NearestWords,
    find_nearest_words,
)
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from allennlp_semfit.pretrained.word_scorer import WordScorer

logger = logging.getLogger(__name__)

_NUM_HUBS = 5


@Subcommand.register("nearest-words")
class NearestWordsCommand(Subcommand):
    """Registered as a "Subcommand" with name "nearest-words"."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        description = """Show which words a bidirectional_lm predicts at each position of a text:
            those nearest to its prediction or, with a softmax, the most likely ones. Forward is by
            the words before the position, backward by those after it, and both by the sum of the
            scores. The numbers in brackets are the ranks of the word of the text. The summary at
            the end has the accuracies and the words that are most often the nearest."""
        subparser = parser.add_parser(
            self.name, description=description, help="Show which words a model predicts."
        )
        subparser.add_argument(
            "archive", metavar="ARCHIVE", help="the model.tar.gz of a language model"
        )
        subparser.add_argument(
            "sentences", metavar="SENTENCES", help="UTF-8 text, one tokenised sentence per line"
        )
        subparser.add_argument(
            "--words",
            nargs="+",
            metavar="TEXT",
            help="text with the words to choose from, such as the training text; by default "
            "SENTENCES",
        )
        subparser.add_argument(
            "--min-count", type=int, default=1, help="leave out words that occur there less often"
        )
        subparser.add_argument(
            "--max-words", type=int, default=50_000, help="use the most frequent words only"
        )
        subparser.add_argument(
            "--number", type=int, default=10, help="how many words to show at each position"
        )
        subparser.add_argument(
            "--correction",
            choices=CORRECTIONS,
            default="none",
            help="correct for words that are near to most predictions: csls compares with the mean "
            "cosine of each word and the predictions nearest to it; whitening compares after "
            "whitening the words' vectors",
        )
        subparser.add_argument(
            "--json", action="store_true", help="print a JSON object for each sentence"
        )
        subparser.add_argument(
            "-o", "--overrides", default="", help="JSON that overrides the archive's config"
        )
        add_progress_option(subparser)
        subparser.set_defaults(func=_run)
        return subparser


@exit_on_error("nearest-words")
def _run(args: argparse.Namespace) -> None:
    apply_progress_option(args)
    for option, value in (("--number", args.number), ("--max-words", args.max_words)):
        if value < 1:
            raise ConfigurationError(f"{option}: {value}; it takes 1 or more")
    load_config(args.archive)
    sentences_file = SentencesFile(Path(args.sentences))
    sentences_file.summarize()
    counts = count_words(find_text_files(args.words or [args.sentences])).counts
    words = sort_by_frequency(counts, min_count=args.min_count)[: args.max_words]
    if not words:
        raise ConfigurationError(
            f"--min-count: {args.min_count}, but no word occurs that often; the most frequent one "
            f"occurs {max(counts.values()):,} times"
        )
    with no_params_logged():
        archive = load_archive(args.archive, overrides=args.overrides)
    scorer = WordScorer(archive, words)
    sentences = [line.split() for line in sentences_file]
    summary = _Summary(args.number)
    for sentence in find_nearest_words(
        scorer, sentences, number=args.number, correction=args.correction
    ):
        summary.add(sentence)
        sys.stdout.write(_as_json(sentence) if args.json else _as_text(sentence))
    for line in summary.lines():
        logger.info(line)


def _as_json(sentence: Sequence[NearestWords]) -> str:
    words = [each._asdict() for each in sentence]
    return json.dumps({"words": words}, ensure_ascii=False) + "\n"


def _as_text(sentence: Sequence[NearestWords]) -> str:
    lines = [" ".join(each.word for each in sentence)]
    for each in sentence:
        lines.append(f"  {each.word}")
        for direction in DIRECTIONS:
            rank = each.ranks[direction]
            found = "  ".join(f"{word} {score:.2f}" for word, score in each.nearest[direction])
            place = "-" if rank is None else f"{rank:,}"
            lines.append(f"    {direction:8} [{place}]  {found}")
    return "\n".join(lines) + "\n\n"


class _Summary:
    """How often the words of the text are found, and which words are found most often."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._num_words = 0
        # By direction and largest rank.
        self._num_found: CounterType[tuple] = Counter()
        self._hubs = {direction: Counter[str]() for direction in DIRECTIONS}

    def add(self, sentence: Sequence[NearestWords]) -> None:
        self._num_words += len(sentence)
        for each in sentence:
            for direction in DIRECTIONS:
                rank = each.ranks[direction]
                for limit in {1, self._number}:
                    self._num_found[direction, limit] += rank is not None and rank <= limit
                self._hubs[direction][each.nearest[direction][0][0]] += 1

    def lines(self) -> List[str]:
        if not self._num_words:
            return ["no words"]
        lines = []
        for direction in DIRECTIONS:
            accuracies = ", ".join(
                f"among the first {limit} in {self._share(self._num_found[direction, limit])}"
                for limit in sorted({1, self._number})
            )
            hubs = ", ".join(
                f"{word} ({self._share(count)})"
                for word, count in self._hubs[direction].most_common(_NUM_HUBS)
            )
            lines.append(f"{direction}: the word of the text is {accuracies}")
            lines.append(f"{direction}: the most frequent nearest words: {hubs}")
        return lines

    def _share(self, count: int) -> str:
        return f"{100 * count / self._num_words:.1f}%"
