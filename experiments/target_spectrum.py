"""
Measures how evenly the target vectors of a language model spread over their principal axes:

    python -m experiments.target_spectrum VECTORS.bin TRAIN OUT.json

Words are weighted by their frequency in the text. Vectors are normalised, because the cosine
distance depends only on their directions.
"""

import argparse
import logging
import sys
from itertools import chain
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of

from allennlp_semfit.common.text_files import find_text_files
from allennlp_semfit.corpus.word_counts import count_words
from allennlp_semfit.fasttext.model import FastTextModel
from allennlp_semfit.modules.lm_heads.target_transforms import TargetWhitening
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from experiments.json_files import write_json

__all__ = ["measure_spectra", "spectrum"]


def spectrum(vectors: torch.Tensor, weights: torch.Tensor) -> Dict[str, float]:
    """
    # Parameters

    vectors : `torch.Tensor`
        Shape `(num_words, m)`.
        Are normalised first.
    weights : `torch.Tensor`
        Positive. Shape `(num_words,)`.

    # Returns

    `Dict[str, float]`
        `"largest_share"`, the share of the mean square along the first principal axis, and
        `"effective_dimensions"`, the inverse of the sum of the squared shares of all `m` principal
        axes: `m` if all shares are equal, 1 if all vectors are parallel.
    """
    directions = torch.nn.functional.normalize(vectors.double(), dim=1)
    shares = torch.linalg.eigvalsh(directions.T @ (directions * weights.double().unsqueeze(1)))
    shares = shares.clamp(min=0) / shares.clamp(min=0).sum()
    return {
        "largest_share": shares.max().item(),
        "effective_dimensions": 1 / shares.square().sum().item(),
    }


def measure_spectra(model: FastTextModel, files: List[Path]) -> List[Dict[str, Any]]:
    """
    # Parameters

    model : `FastTextModel`
    files : `List[Path]`
        One tokenised sentence per line, in the order of training.

    # Returns

    `List[Dict[str, Any]]`
        The `spectrum` of the `"original"`, `"centred"` and `"whitened"` targets. `TargetWhitening`
        is fitted to the first sentences, as in training.

    # Raises

    `ConfigurationError`
        If a file is not UTF-8, or if the files have no words.
    """
    counts = count_words(files).counts
    if not counts:
        raise ConfigurationError(f"{files[0]}: the file has no words; give a text")
    words = list(counts)

    def vectors_of(some_words: Sequence[str]) -> torch.Tensor:
        return torch.stack([torch.from_numpy(model.get_word_vector(word)) for word in some_words])

    whitening = TargetWhitening(model.dim)
    sentences = (line.split() for line in chain.from_iterable(map(SentencesFile, files)))
    for group in lazy_groups_of(filter(None, sentences), 64):
        if whitening.is_fitted:
            break
        whitening.update(vectors_of([word for sentence in group for word in sentence]))

    vectors = vectors_of(words)
    weights = torch.tensor([float(counts[word]) for word in words])
    directions = torch.nn.functional.normalize(vectors, dim=1)
    mean = weights @ directions / weights.sum()
    return [
        {"targets": name, **spectrum(each, weights)}
        for name, each in (
            ("original", directions),
            ("centred", directions - mean),
            ("whitened", whitening(vectors)),
        )
    ]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.target_spectrum", description=__doc__)
    parser.add_argument("vectors", type=Path, help="a fastText .bin")
    parser.add_argument("train", help="the text: a file, a directory or a pattern")
    parser.add_argument("out", type=Path, help="a JSON file")
    args = parser.parse_args(arguments)
    try:
        rows = measure_spectra(FastTextModel.open(args.vectors), find_text_files([args.train]))
    except ConfigurationError as error:
        sys.exit(f"target_spectrum: {error}")
    write_json(args.out, rows)


if __name__ == "__main__":
    main()
