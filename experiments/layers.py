"""
How long the vectors of a language model's layers are, and how much is the same for every word:

    python -m experiments.layers ARCHIVE HELDOUT.txt OUT.json

In the mean of the layers a short one drowns in a long one, and a classifier learns nothing from
what is the same for every word.
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

__all__ = ["measure"]


def measure(
    embedder: SentenceEmbedder,
    sentences: Sequence[Sequence[str]],
    batch_size: int = DEFAULT_BATCH_SIZE,
) -> List[Dict[str, Any]]:
    """
    # Parameters

    embedder : `SentenceEmbedder`
    sentences : `Sequence[Sequence[str]]`
        At least one has a word.
    batch_size : `int`, optional (default = `64`)
        The most sentences that are embedded at once.

    # Returns

    `List[Dict[str, Any]]`
        Of each layer, the projected input first: `"layer"`, its number; `"length"`, the mean over
        the words of their vectors' Euclidean norm; and `"shared"`, the share of their mean square
        that is their mean's.
    """
    lengths = numpy.zeros(embedder.num_layers)
    squares = numpy.zeros(embedder.num_layers)
    sums = numpy.zeros((embedder.num_layers, embedder.get_output_dim()))
    num_words = 0
    embedded = embedder.embed_sentences(sentences, batch_size)
    for layers in Tqdm.tqdm(embedded, total=len(sentences), desc="embedding"):
        norms = numpy.linalg.norm(layers.astype(float), axis=2)
        lengths += norms.sum(axis=1)
        squares += (norms**2).sum(axis=1)
        sums += layers.sum(axis=1, dtype=float)
        num_words += layers.shape[1]
    shared = ((sums / num_words) ** 2).sum(axis=1) / (squares / num_words)
    return [
        {"layer": layer, "length": lengths[layer] / num_words, "shared": shared[layer]}
        for layer in range(embedder.num_layers)
    ]


def main(arguments: Optional[Sequence[str]] = None) -> None:
    logging.basicConfig(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="experiments.layers", description=__doc__)
    parser.add_argument("archive", help="the model.tar.gz of a language model")
    parser.add_argument("heldout", type=Path, help="tokenised text, one sentence a line")
    parser.add_argument("out", type=Path, help="a JSON file")
    add_language_model_options(parser)
    args = parser.parse_args(arguments)
    try:
        sentences = [line.split() for line in SentencesFile(args.heldout)]
        if not any(sentences):
            raise ConfigurationError(f"{args.heldout}: there is no word in it; give text")
        rows = measure(load_language_model(args), sentences, args.batch_size)
    except ConfigurationError as error:
        sys.exit(f"layers: {error}")
    write_json(args.out, rows)


if __name__ == "__main__":
    main()
