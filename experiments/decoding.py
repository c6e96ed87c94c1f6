"""
How often are held-out words among those nearest to the prediction of a language model, and which
words are nearest to most predictions?

    python -m experiments.decoding ARCHIVE HELDOUT TRAIN OUT.json
"""

import argparse
import logging
import random
import sys
from pathlib import Path
from typing import Any, Dict, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

from allennlp_semfit.corpus.word_counts import sort_by_frequency
from allennlp_semfit.pretrained.nearest_words import (
    CORRECTIONS,
    DecodingAccuracy,
    find_nearest_words,
)
from allennlp_semfit.pretrained.word_scorer import WordScorer
from experiments.cloze_by_frequency import BUCKETS, bucket_index, bucket_label, read_inputs
from experiments.json_files import write_json

__all__ = ["measure_decoding"]

_NUMBER = 10
_NUM_HUBS = 10


def measure_decoding(
    scorer: WordScorer,
    sentences: Sequence[Sequence[str]],
    counts: Dict[str, int],
    correction: str,
) -> Dict[str, Any]:
    """
    Decodes forwards, by the words before each position.

    # Parameters

    scorer : `WordScorer`
    sentences : `Sequence[Sequence[str]]`
        The held-out text. Words that the scorer does not know are left out.
    counts : `Dict[str, int]`
        The frequency of each word in the training text.
    correction : `str`
        One of `CORRECTIONS`.

    # Returns

    `Dict[str, Any]`
        `"correction"`; `"buckets"`, for each frequency bucket with words its label as `"bucket"`,
        their number as `"count"`, and the shares of those that are the nearest and among the ten
        nearest words, `"accuracy_at_1"` and `"accuracy_at_10"`; the same for all words, `"count"`,
        `"accuracy_at_1"` and `"accuracy_at_10"`; and `"hubs"`, the ten words that are most often
        the nearest, each with its share of the positions.
    """
    overall = DecodingAccuracy("forward", _NUMBER)
    buckets = [DecodingAccuracy("forward", _NUMBER) for _ in BUCKETS]
    for sentence in find_nearest_words(scorer, sentences, number=_NUMBER, correction=correction):
        for each in sentence:
            overall.add(each)
            buckets[bucket_index(counts.get(each.word, 0))].add(each)
    hubs = overall.nearest.most_common(_NUM_HUBS)
    return {
        "correction": correction,
        "buckets": [
            {"bucket": bucket_label(index), **_shares(bucket)}
            for index, bucket in enumerate(buckets)
            if bucket.count
        ],
        **_shares(overall),
        "hubs": [[word, number / overall.count] for word, number in hubs],
    }


def _shares(accuracy: DecodingAccuracy) -> Dict[str, Any]:
    count = accuracy.count
    return {
        "count": count,
        "accuracy_at_1": accuracy.num_first / max(count, 1),
        "accuracy_at_10": accuracy.num_among / max(count, 1),
    }


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.decoding", description=__doc__)
    parser.add_argument("archive", type=Path, help="a language model's model.tar.gz")
    parser.add_argument("heldout", type=Path, help="held-out text")
    parser.add_argument("train", help="its training text: a file, a directory or a pattern")
    parser.add_argument("out", type=Path, help="a JSON file")
    parser.add_argument(
        "--sentences", type=int, default=300, help="sentences to decode; default: 300"
    )
    parser.add_argument(
        "--min-count", type=int, default=3, help="frequency of candidate words; default: 3"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample; default: 1")
    args = parser.parse_args(arguments)
    try:
        file, sentences, counts = read_inputs(args.archive, args.heldout, args.train)
        words = sort_by_frequency(counts, min_count=args.min_count)
        sample = random.Random(args.seed).sample(sentences, min(args.sentences, len(sentences)))
        scorer = WordScorer(load_archive(file), words)
        corrections = CORRECTIONS if scorer.predicts_vectors else CORRECTIONS[:1]
        rows = [measure_decoding(scorer, sample, counts, correction) for correction in corrections]
    except ConfigurationError as error:
        sys.exit(f"decoding: {error}")
    write_json(args.out, {"candidates": len(words), "rows": rows})


if __name__ == "__main__":
    main()
