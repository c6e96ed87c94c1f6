"""
A cloze test for language models, by the frequency of the missing word in their training text:

    python -m experiments.cloze_by_frequency ARCHIVE HELDOUT.txt TRAIN OUT.json

Language models without a softmax have no perplexity, but every language model can rank candidate
words by its loss. Each word sampled from the held-out text is ranked among a hundred candidates,
once given its left context and once given its right context.
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
from allennlp_semfit.models.archive import load_config
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from allennlp_semfit.pretrained.word_scorer import WordScorer
from experiments.json_files import write_json

__all__ = [
    "BUCKETS",
    "ClozeTargets",
    "bucket_index",
    "bucket_label",
    "evaluate",
    "reciprocal_rank",
    "sample_targets",
]

# The lowest frequency of each bucket.
BUCKETS = (0, 1, 3, 10, 100, 1000)
NUM_TARGETS = 3000
# Including the target.
NUM_CANDIDATES = 100
BATCH_SIZE = 64


class ClozeTargets(NamedTuple):
    """
    Words of the held-out text in one frequency bucket.

    # Parameters

    locations : `List[Tuple[int, int]]`
        The sentence and the position of each of `N` words.
    candidates : `torch.Tensor`
        The candidates for each word, itself first, as indices into the list of all words. Shape
        `(N, num_candidates)`.
    same_frequency : `torch.Tensor`
        The same with candidates from the bucket only. Shape `(N, num_same_frequency)`.
    """

    locations: List[Tuple[int, int]]
    candidates: torch.Tensor
    same_frequency: torch.Tensor


def bucket_index(count: int) -> int:
    """The position in `BUCKETS` for a word that occurs `count` times."""
    return bisect_right(BUCKETS, count) - 1


def bucket_label(bucket: int) -> str:
    """Such as `"0"`, `"10–99"` or `"1000+"`."""
    low = BUCKETS[bucket]
    if bucket + 1 == len(BUCKETS):
        return f"{low}+"
    high = BUCKETS[bucket + 1] - 1
    return f"{low}" if low == high else f"{low}–{high}"


def sample_targets(
    sentences: Sequence[Sequence[str]],
    counts: Dict[str, int],
    *,
    num_targets: int,
    num_candidates: int,
    seed: int,
) -> Tuple[List[str], List[ClozeTargets]]:
    """
    The sample depends only on the text and the seed, so it is the same for every language model.

    # Parameters

    sentences : `Sequence[Sequence[str]]`
        The held-out text.
    counts : `Dict[str, int]`
        The frequency of each word in the training text.
    num_targets : `int`
        The maximum number of targets, divided equally among the buckets.
    num_candidates : `int`
        The number of candidates including the target, or fewer if there are not enough words.
    seed : `int`

    # Returns

    `List[str]`
        The distinct words of both texts.
    `List[ClozeTargets]`
        One for each of `BUCKETS`.
    """
    words = sorted({*counts, *(word for sentence in sentences for word in sentence)})
    indices = {word: index for index, word in enumerate(words)}
    locations: List[List[Tuple[int, int]]] = [[] for _ in BUCKETS]
    pools: List[List[int]] = [[] for _ in BUCKETS]
    for number, sentence in enumerate(sentences):
        for position, word in enumerate(sentence):
            locations[bucket_index(counts.get(word, 0))].append((number, position))
    for index, word in enumerate(words):
        pools[bucket_index(counts.get(word, 0))].append(index)

    generator = random.Random(seed)

    def candidates_of(targets: List[int], pool: Sequence[int]) -> torch.Tensor:
        number = min(num_candidates, len(pool))
        rows = []
        for target in targets:
            others = [index for index in generator.sample(pool, number) if index != target]
            rows.append([target, *others[: number - 1]])
        return torch.tensor(rows, dtype=torch.long).view(len(targets), number)

    drawn = []
    for some_locations, pool in zip(locations, pools):
        number = min(num_targets // len(BUCKETS), len(some_locations))
        chosen = generator.sample(some_locations, number)
        targets = [indices[sentences[number][position]] for number, position in chosen]
        drawn.append(
            ClozeTargets(
                chosen, candidates_of(targets, range(len(words))), candidates_of(targets, pool)
            )
        )
    return words, drawn


def reciprocal_rank(scores: torch.Tensor) -> torch.Tensor:
    """
    # Parameters

    scores : `torch.Tensor`
        The scores of the candidates, with the target first. Shape `(N, num_candidates)`.

    # Returns

    `torch.Tensor`
        The reciprocal rank of the target: its expectation if ties are broken at random. Shape
        `(N,)`.
    """
    better = (scores[:, 1:] > scores[:, :1]).sum(dim=1)
    num_ties = (scores[:, 1:] == scores[:, :1]).sum(dim=1) + 1
    # Cumulative sums of the reciprocal ranks.
    sums = torch.arange(scores.size(1) + 1, dtype=torch.double)
    sums = torch.cat([sums[:1], (1 / sums[1:]).cumsum(dim=0)])
    return (sums[better + num_ties] - sums[better]) / num_ties


def evaluate(
    scores: WordScorer, sentences: Sequence[Sequence[str]], drawn: Sequence[ClozeTargets]
) -> List[Dict[str, Any]]:
    """
    # Parameters

    scores : `WordScorer`
        The scorer of the language model for the words of `sample_targets`.
    sentences : `Sequence[Sequence[str]]`
        The held-out text.
    drawn : `Sequence[ClozeTargets]`
        One for each of `BUCKETS`.

    # Returns

    `List[Dict[str, Any]]`
        A row for each bucket with targets: their number as `"count"`, the mean reciprocal rank
        `"mrr"` among any words, and `"mrr_same_frequency"` among words of the target's bucket,
        where knowing the word frequencies does not help. Both are means over both directions. The
        expected reciprocal rank of a random order of `n` candidates is `(1 + 1/2 + … + 1/n) / n`.
    """
    locations = [location for targets in drawn for location in targets.locations]
    contexts = scores.contexts(sentences, locations)
    rows = []
    start = 0
    for bucket, (some_locations, *kinds) in enumerate(drawn):
        number = len(some_locations)
        if not number:
            continue
        of_bucket = contexts[start : start + number]
        start += number
        ranks: List[List[torch.Tensor]] = [[] for _ in kinds]
        for begin in range(0, number, BATCH_SIZE):
            some = slice(begin, begin + BATCH_SIZE)
            for direction in (0, 1):
                of_all = scores(of_bucket[some, direction])
                for of_kind, candidates in zip(ranks, kinds):
                    of_kind.append(reciprocal_rank(of_all.gather(1, candidates[some])))
        mrr, mrr_same_frequency = (torch.cat(of_kind).mean().item() for of_kind in ranks)
        rows.append(
            {
                "bucket": bucket_label(bucket),
                "count": number,
                "mrr": mrr,
                "mrr_same_frequency": mrr_same_frequency,
            }
        )
    return rows


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.cloze_by_frequency", description=__doc__)
    parser.add_argument("archive", type=Path, help="a language model's model.tar.gz")
    parser.add_argument("heldout", type=Path, help="held-out text")
    parser.add_argument("train", help="its training text: a file, a directory or a pattern")
    parser.add_argument("out", type=Path, help="a JSON file")
    args = parser.parse_args(arguments)
    try:
        # Check what does not take long before the model is loaded.
        load_config(str(args.archive))
        lines = SentencesFile(args.heldout)
        lines.summarize()
        sentences = [line.split() for line in lines]
        counts = count_words(find_text_files([args.train])).counts
        words, drawn = sample_targets(
            sentences,
            counts,
            num_targets=NUM_TARGETS,
            num_candidates=NUM_CANDIDATES,
            seed=1,
        )
        rows = evaluate(WordScorer(load_archive(args.archive), words), sentences, drawn)
    except ConfigurationError as error:
        sys.exit(f"cloze_by_frequency: {error}")
    write_json(args.out, {"rows": rows})


if __name__ == "__main__":
    main()
