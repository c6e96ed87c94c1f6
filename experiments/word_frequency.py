"""
How well a language model finds the missing word, by how often its training text has that word:

    python -m experiments.word_frequency ARCHIVE HELDOUT.txt TRAIN OUT.json

Language models without a softmax have no perplexity. What any of them can do is to put words in
order, the one first that it would have lost least by: each word drawn from the held-out text is to
be found among a hundred, by the context before it and by the one after it.
"""

import argparse
import logging
import random
import sys
from bisect import bisect_right
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.word_counts import count_words
from allennlp_semfit.pretrained.archive import load_config
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from experiments.json_files import write_json
from experiments.word_scores import WordScores

__all__ = ["BUCKETS", "Targets", "bucket_of", "describe", "draw_targets", "measure", "rank"]

# The least count of each.
BUCKETS = (0, 1, 3, 10, 100, 1000)
ROWS = 64


class Targets(NamedTuple):
    """
    Words of the held-out text that the training text has about equally often.

    # Parameters

    places : `List[Tuple[int, int]]`
        The sentence and the position in it of each of `N` words.
    candidates : `torch.Tensor`
        Among which words each is to be found, itself first: positions in the list of all words.
        The others are any. Shape `(N, num_candidates)`.
    alike : `torch.Tensor`
        The same with others that are about as frequent. Shape `(N, num_alike)`.
    """

    places: List[Tuple[int, int]]
    candidates: torch.Tensor
    alike: torch.Tensor


def bucket_of(count: int) -> int:
    """The position in `BUCKETS` for a word that occurs `count` times."""
    return bisect_right(BUCKETS, count) - 1


def describe(bucket: int) -> str:
    """Such as `"0"`, `"10–99"` or `"1000+"`."""
    low = BUCKETS[bucket]
    if bucket + 1 == len(BUCKETS):
        return f"{low}+"
    high = BUCKETS[bucket + 1] - 1
    return f"{low}" if low == high else f"{low}–{high}"


def draw_targets(
    sentences: Sequence[Sequence[str]],
    counts: Dict[str, int],
    *,
    num_targets: int,
    num_candidates: int,
    seed: int,
) -> Tuple[List[str], List[Targets]]:
    """
    What is drawn depends on the text alone, so that it is the same for each language model.

    # Parameters

    sentences : `Sequence[Sequence[str]]`
        The held-out text.
    counts : `Dict[str, int]`
        How often the training text has each of its words.
    num_targets : `int`
        At most so many, as many of each bucket.
    num_candidates : `int`
        The target itself is one of them. They are fewer where there are not so many words.
    seed : `int`

    # Returns

    `List[str]`
        All words of both texts, each once.
    `List[Targets]`
        One for each of `BUCKETS`.
    """
    words = sorted({*counts, *(word for sentence in sentences for word in sentence)})
    indices = {word: index for index, word in enumerate(words)}
    places: List[List[Tuple[int, int]]] = [[] for _ in BUCKETS]
    pools: List[List[int]] = [[] for _ in BUCKETS]
    for number, sentence in enumerate(sentences):
        for position, word in enumerate(sentence):
            places[bucket_of(counts.get(word, 0))].append((number, position))
    for index, word in enumerate(words):
        pools[bucket_of(counts.get(word, 0))].append(index)

    generator = random.Random(seed)

    def candidates_of(targets: List[int], pool: Sequence[int]) -> torch.Tensor:
        number = min(num_candidates, len(pool))
        rows = []
        for target in targets:
            others = [index for index in generator.sample(pool, number) if index != target]
            rows.append([target, *others[: number - 1]])
        return torch.tensor(rows, dtype=torch.long).view(len(targets), number)

    drawn = []
    for some_places, pool in zip(places, pools):
        number = min(num_targets // len(BUCKETS), len(some_places))
        chosen = generator.sample(some_places, number)
        targets = [indices[sentences[number][position]] for number, position in chosen]
        drawn.append(
            Targets(chosen, candidates_of(targets, range(len(words))), candidates_of(targets, pool))
        )
    return words, drawn


def rank(scores: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    # Parameters

    scores : `torch.Tensor`
        Those of the candidates, the target's first. Shape `(N, num_candidates)`.

    # Returns

    `torch.Tensor`
        The reciprocal of the target's rank. Where the target's score is another candidate's too, it
        is what is to be expected if chance decides. Shape `(N,)`.
    `torch.Tensor`
        Whether the target is the first, likewise a probability. Shape `(N,)`.
    """
    better = (scores[:, 1:] > scores[:, :1]).sum(dim=1)
    as_good = (scores[:, 1:] == scores[:, :1]).sum(dim=1) + 1
    # The reciprocals of the first ranks, summed.
    sums = torch.arange(scores.size(1) + 1, dtype=torch.double)
    sums = torch.cat([sums[:1], (1 / sums[1:]).cumsum(dim=0)])
    return (sums[better + as_good] - sums[better]) / as_good, (better == 0) / as_good.double()


def measure(
    scores: WordScores, sentences: Sequence[Sequence[str]], drawn: Sequence[Targets]
) -> List[Dict[str, Any]]:
    """
    # Parameters

    scores : `WordScores`
        Those of the language model, for the words that were drawn from.
    sentences : `Sequence[Sequence[str]]`
        The held-out text.
    drawn : `Sequence[Targets]`
        One for each of `BUCKETS`.

    # Returns

    `List[Dict[str, Any]]`
        A row for each bucket that has targets: their number as `"count"`; the mean reciprocal rank
        `"mrr"` and the `"accuracy"` among any `"candidates"`, of which there are so many; the same
        as `"mrr_alike"` and `"accuracy_alike"` among the `"candidates_alike"`, all of the target's
        bucket, where it is no help to know whether a word is rare. All are means over both
        directions. By chance, the reciprocal rank among `n` is `(1 + 1/2 + … + 1/n) / n`.
    """
    places = [place for targets in drawn for place in targets.places]
    contexts = scores.contexts(sentences, places)
    rows = []
    start = 0
    for bucket, (some_places, *kinds) in enumerate(drawn):
        number = len(some_places)
        if not number:
            continue
        row: Dict[str, Any] = {"bucket": describe(bucket), "count": number}
        of_bucket = contexts[start : start + number]
        start += number
        for candidates, suffix in zip(kinds, ("", "_alike")):
            ranks = [
                rank(scores(some_contexts[:, direction], some_candidates))
                for some_contexts, some_candidates in zip(
                    of_bucket.split(ROWS), candidates.split(ROWS)
                )
                for direction in (0, 1)
            ]
            for name, values in zip(("mrr", "accuracy"), zip(*ranks)):
                row[f"{name}{suffix}"] = torch.cat(values).mean().item()
            row[f"candidates{suffix}"] = candidates.size(1)
        rows.append(row)
    return rows


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.word_frequency", description=__doc__)
    parser.add_argument("archive", type=Path, help="a language model's model.tar.gz")
    parser.add_argument("heldout", type=Path, help="text that it was not trained on")
    parser.add_argument("train", help="the text that it was: a file, a directory or a pattern")
    parser.add_argument("out", type=Path, help="a JSON file")
    parser.add_argument("--targets", type=int, default=3000, help="at most so many")
    parser.add_argument("--candidates", type=int, default=100, help="the target is one of them")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn")
    parser.add_argument("-o", "--overrides", default="", help="of the archive's configuration")
    args = parser.parse_args(arguments)
    try:
        file = args.archive / "model.tar.gz" if args.archive.is_dir() else args.archive
        load_config(str(file))
        heldout = SentencesFile(args.heldout)
        heldout.summarize()
        counts = count_words(find_text_files([args.train])).counts
        archive = load_archive(file, overrides=args.overrides)
        sentences = [line.split() for line in heldout]
        words, drawn = draw_targets(
            sentences,
            counts,
            num_targets=args.targets,
            num_candidates=args.candidates,
            seed=args.seed,
        )
        scores = WordScores(archive, words)
        rows = measure(scores, sentences, drawn)
    except ConfigurationError as error:
        sys.exit(f"word_frequency: {error}")
    result = {
        "archive_name": file.resolve().parent.name,
        "candidates": min(args.candidates, len(words)),
        "rows": rows,
    }
    write_json(args.out, result)


if __name__ == "__main__":
    main()
