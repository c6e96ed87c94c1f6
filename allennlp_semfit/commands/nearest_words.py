import argparse
import json
import logging
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Tuple

from allennlp.commands.subcommand import Subcommand
from allennlp.common import Tqdm

from allennlp_semfit.analysis.nearest_words import (
    DIRECTIONS,
    NearestWords,
    WordScorer,
    find_nearest_words,
)
from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.commands.options import Command, add_parameters
from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.word_counts import count_words, sort_by_frequency
from allennlp_semfit.export.embed_file import SentencesFile, embed_file
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder

logger = logging.getLogger(__name__)

_NUM_HUBS = 5


@Subcommand.register("nearest-words")
class NearestWordsCommand(Command):
    help = "Show which words a model predicts."
    description = """Shows which words a bidirectional_lm predicts at each position of a text:
        those nearest to its prediction or, with a softmax, the most likely ones. Forward
        predicts from the preceding words, backward from the following ones, and both sums the
        two scores. The number in brackets is the rank of the text's own word. The summary at
        the end has the accuracies and the words that are most often the nearest."""
    interrupted = "the rest is not printed"
    out_of_memory = "use less text or a lower --max-words"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_parameters(subparser, SentenceEmbedder, "archive_file")
        add_parameters(subparser, embed_file, "sentences_file")
        subparser.add_argument(
            "--candidates",
            nargs="+",
            metavar="TEXT",
            help="text with the words to choose from, such as the training text; by default "
            "SENTENCES",
        )
        subparser.add_argument(
            "--max-words", type=int, default=50_000, help="use the most frequent words only"
        )
        add_parameters(subparser, find_nearest_words, "top_k")
        subparser.add_argument(
            "--json", action="store_true", help="print a JSON object for each sentence"
        )

    def run(self, args: argparse.Namespace) -> None:
        check_bounds({"--top-k": args.top_k, "--max-words": args.max_words}, at_least=1)
        archive = LanguageModelArchive.open(args.archive_file)
        sentences_file = SentencesFile(Path(args.sentences_file))
        sentences_file.summarize()
        counts = count_words(find_text_files(args.candidates or [args.sentences_file])).counts
        counts = _merge_forms(counts)
        words = sort_by_frequency(counts)[: args.max_words]
        scorer = WordScorer(archive.build_model(), archive.build_reader(), words)
        sentences = [line.split() for line in sentences_file]
        found: Dict[str, List[Tuple[int, str]]] = {direction: [] for direction in DIRECTIONS}
        progress = Tqdm.tqdm(
            find_nearest_words(scorer, sentences, top_k=args.top_k),
            total=len(sentences),
            desc="finding words",
            # On a terminal, the bar would be in the middle of the output.
            disable=sys.stdout.isatty(),
        )
        for sentence in progress:
            for each in sentence:
                for direction, rank in each.ranks.items():
                    if rank is not None:
                        found[direction].append((rank, each.nearest[direction][0][0]))
            sys.stdout.write(_as_json(sentence) if args.json else _as_text(sentence))
        for direction in DIRECTIONS:
            for line in _summary(direction, found[direction], args.top_k):
                logger.info(line)


def _merge_forms(counts: Counter[str]) -> Counter[str]:
    """
    Adds up the counts of words that are the same in Unicode's normalization form C. The most
    frequent of them, which the language model is most likely to know, stands for all.
    """
    merged: Counter[str] = Counter()
    spellings: Dict[str, str] = {}
    for word, count in counts.most_common():
        merged[spellings.setdefault(unicodedata.normalize("NFC", word), word)] += count
    return merged


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


def _summary(direction: str, found: Sequence[Tuple[int, str]], limit: int) -> Iterator[str]:
    """`found` has the rank of each word, and the nearest word."""

    def share(number: int) -> str:
        return f"{100 * number / len(found):.1f}%"

    if not found:
        yield f"{direction}: no word of the text is among the candidates"
        return
    num_first = sum(rank == 1 for rank, _ in found)
    num_among = sum(rank <= limit for rank, _ in found)
    yield (
        f"{direction}: of {len(found):,} words of the text, {share(num_first)} are the "
        f"nearest, {share(num_among)} among the first {limit}"
    )
    hubs = Counter(word for _, word in found).most_common(_NUM_HUBS)
    yield f"{direction}: most often nearest: " + ", ".join(
        f"{word} ({share(number)})" for word, number in hubs
    )
