"""Pools the layers of a language model, and the vectors of the words of a sentence."""

from typing import Literal, get_args

import numpy
import torch
from torch.nn.functional import layer_norm

from allennlp_semfit.common.errors import check_choice

Pool = Literal["mean", "max"]
Layers = Literal["all", "top", "average", "normalized"]


def check_pooling(layers: str, pool: str = "mean") -> None:
    """Raises a `ConfigurationError` if a mode of `pool_layers` or `pool_words` is unknown."""
    check_choice("layers", layers, get_args(Layers))
    check_choice("pool", pool, get_args(Pool))


def pool_layers(layers: numpy.ndarray, mode: str) -> numpy.ndarray:
    """
    Pools the layers of the words of a sentence, shape `(num_layers, length, dim)`. The modes are
    the `layers` of `SentenceEmbedder.sentence_vectors`. Shape `(length, num_layers * dim)` with
    `"all"`, otherwise `(length, dim)`.
    """
    if mode == "all":
        return numpy.concatenate(layers, axis=-1)
    if mode == "top":
        return layers[-1]
    if mode == "normalized":
        layers = layer_norm(torch.from_numpy(layers), layers.shape[-1:]).numpy()
    return layers.mean(axis=0)


def pool_words(vectors: numpy.ndarray, mode: str) -> numpy.ndarray:
    """
    Pools the vectors of the words of a sentence, shape `(length, dim)`: `"mean"` is their mean,
    `"max"` the maximum of each element. Zeros if there are no words. Shape `(dim,)`.
    """
    if not len(vectors):
        return numpy.zeros(vectors.shape[1], vectors.dtype)
    return vectors.max(axis=0) if mode == "max" else vectors.mean(axis=0)
