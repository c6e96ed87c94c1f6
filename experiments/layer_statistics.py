"""
Measures the mean norm of the vectors in each layer of a language model, and the share of their mean
square that is common to all words:

    python -m experiments.layer_statistics ARCHIVE HELDOUT.txt OUT.json

A layer with a small norm contributes little to the mean of the layers, and a component that all
words share carries no information for a classifier.
"""

import argparse
import logging
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy
from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.commands.options import (
    add_language_model_options,
    load_language_model,
)
from allennlp_semfit.pretrained.sentence_embedder import DEFAULT_BATCH_SIZE, SentenceEmbedder
from allennlp_semfit.pretrained.sentences_file import SentencesFile
from experiments.json_files import write_json

__all__ = ["measure_layers"]


def measure_layers(
    embedder: SentenceEmbedder,
    sentences: Sequence[Sequence[str]],
    batch_size: int = DEFAULT_BATCH_SIZE,
) -> List[Dict[str, Any]]:
    """
    # Parameters

    embedder : `SentenceEmbedder`
    sentences : `Sequence[Sequence[str]]`
        At least one must have a word.
    batch_size : `int`, optional (default = `64`)
        The maximum number of sentences per batch.

    # Returns

    `List[Dict[str, Any]]`
        A row for each layer, starting with the projected input: `"layer"`, its number; `"norm"`,
        the mean Euclidean norm of the word vectors; and `"common_share"`, the squared norm of the
        mean vector divided by the mean squared norm.
    """
    norm_sums = numpy.zeros(embedder.num_layers)
    squares = numpy.zeros(embedder.num_layers)
    sums = numpy.zeros((embedder.num_layers, embedder.get_output_dim()))
    num_words = 0
    embedded = embedder.embed_sentences(sentences, batch_size)
    for layers in Tqdm.tqdm(embedded, total=len(sentences), desc="embedding"):
        norms = numpy.linalg.norm(layers.astype(float), axis=2)
        norm_sums += norms.sum(axis=1)
        squares += (norms**2).sum(axis=1)
        sums += layers.sum(axis=1, dtype=float)
        num_words += layers.shape[1]
    common_shares = ((sums / num_words) ** 2).sum(axis=1) / (squares / num_words)
    return [
        {
            "layer": layer,
            "norm": norm_sums[layer] / num_words,
            "common_share": common_shares[layer],
        }
        for layer in range(embedder.num_layers)
    ]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.layer_statistics", description=__doc__)
    parser.add_argument("archive", help="the model.tar.gz of a language model")
    parser.add_argument("heldout", type=Path, help="tokenised text, one sentence a line")
    parser.add_argument("out", type=Path, help="a JSON file")
    add_language_model_options(parser)
    args = parser.parse_args(arguments)
    try:
        sentences = [line.split() for line in SentencesFile(args.heldout)]
        if not any(sentences):
            raise ConfigurationError(f"{args.heldout}: the file has no words; give a text")
        rows = measure_layers(load_language_model(args), sentences, args.batch_size)
    except ConfigurationError as error:
        sys.exit(f"layer_statistics: {error}")
    write_json(args.out, rows)


if __name__ == "__main__":
    main()
