import argparse
import json
import logging
import sys
from bisect import bisect_right
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

import regex
from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from rich.cells import cell_len

from allennlp_semfit.analysis.neighbors import (
    Neighbor,
    Neighborhood,
    Occurrence,
    distinct_sentences,
    find_neighbors,
    find_occurrences,
)
from allennlp_semfit.commands.options import (
    Command,
    add_language_model_options,
    add_parameters,
    call,
    load_language_model,
)
from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.export.embed_file import SentencesFile, embed_file
from allennlp_semfit.pretrained.sentence_embedder import SentenceEmbedder

logger = logging.getLogger(__name__)

# The columns of context on each side of a word.
_WIDTH = 36
# A letter with its vowel signs and diacritics.
_CLUSTER = regex.compile(r"\X")

_Sentences = Mapping[int, Sequence[str]]


@Subcommand.register("show-neighbors")
class ShowNeighbors(Command):
    help = "Show the nearest neighbors of words."
    description = """Shows occurrences of words in a text and, for each, its nearest neighbors:
        other occurrences of the word, which show its senses, and occurrences of other words. A
        score is the cosine between the language model's vectors, from which the mean over the
        text is subtracted. Upper and lower case count as the same word."""
    out_of_memory = "use a lower --batch-size or --max-sentences"

    def add_arguments(self, subparser: argparse.ArgumentParser) -> None:
        add_parameters(subparser, SentenceEmbedder, "archive_file")
        add_parameters(subparser, embed_file, "sentences_file")
        subparser.add_argument(
            "--words", metavar="WORD,WORD", required=True, help="the words, separated by commas"
        )
        add_parameters(subparser, find_neighbors, "top_k", "layers")
        add_parameters(subparser, find_occurrences, "max_occurrences")
        add_parameters(subparser, distinct_sentences, "max_sentences")
        subparser.add_argument(
            "--json",
            action="store_true",
            help="print a JSON object per line: an occurrence with its neighbors",
        )
        add_language_model_options(subparser)

    def run(self, args: argparse.Namespace) -> None:
        # Everything is checked before the model, which takes a while to load.
        for name in ("top_k", "max_occurrences", "max_sentences"):
            check_bounds({f"--{name.replace('_', '-')}": getattr(args, name)}, at_least=1)
        # Each once, in order.
        words = list(dict.fromkeys(filter(None, map(str.strip, args.words.split(",")))))
        if not words:
            raise ConfigurationError(
                f"--words must be words separated by commas, got {args.words!r}"
            )
        file = SentencesFile(Path(args.sentences_file))
        num_lines, _ = file.summarize()
        sentences = distinct_sentences(file, args.max_sentences)
        if len(sentences) == args.max_sentences and max(sentences) < num_lines - 1:
            logger.warning(
                "%s: only its first %s sentences are read; --max-sentences changes this.",
                args.sentences_file,
                f"{len(sentences):,}",
            )
        occurrences = find_occurrences(sentences, words, args.max_occurrences)
        neighborhoods = call(
            find_neighbors,
            args,
            embedder=load_language_model(args),
            sentences=sentences,
            occurrences=[*chain(*occurrences.values())],
        )
        show = _as_json if args.json else _as_text
        sys.stdout.writelines(show(each, sentences) for each in neighborhoods)


def _as_json(found: Neighborhood, sentences: _Sentences) -> str:
    def place(occurrence: Occurrence) -> Dict[str, Any]:
        return {**occurrence._asdict(), "sentence": sentences[occurrence.line]}

    def scored(neighbors: List[Neighbor]) -> List[Dict[str, Any]]:
        return [{"cosine": cosine, **place(occurrence)} for occurrence, cosine in neighbors]

    content = {
        **place(found.occurrence),
        "same_word": scored(found.same_word),
        "other_words": scored(found.other_words),
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _as_text(found: Neighborhood, sentences: _Sentences) -> str:
    lines = [f"       {_in_context(found.occurrence, sentences)}"]
    titled = {"the same word": found.same_word, "other words": found.other_words}
    for title, neighbors in titled.items():
        lines.append(f"  {title}:{'' if neighbors else ' none'}")
        lines += (f"{cosine:6.2f} {_in_context(near, sentences)}" for near, cosine in neighbors)
    return "\n".join(lines) + "\n\n"


def _in_context(occurrence: Occurrence, sentences: _Sentences) -> str:
    words, position = sentences[occurrence.line], occurrence.position
    left, right = " ".join(words[:position]), " ".join(words[position + 1 :])
    left = "".join(reversed(_cut(_CLUSTER.findall(left)[::-1])))
    right = "".join(_cut(_CLUSTER.findall(right)))
    indent = " " * (_WIDTH - cell_len(left))
    return f"{indent}{left} [{words[position]}] {right}  (line {occurrence.line + 1:,})"


def _cut(clusters: List[str]) -> List[str]:
    # A Chinese character has two columns.
    ends = list(accumulate(map(cell_len, clusters), initial=0))
    if ends[-1] <= _WIDTH:
        return clusters
    return [*clusters[: bisect_right(ends, _WIDTH - 1) - 1], "…"]
