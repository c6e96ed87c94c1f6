"""Pools the layers of a language model, and the vectors of the words of a sentence."""

from typing import Literal, get_args

import numpy
import torch
from torch.nn.functional import layer_norm

from allennlp_semfit.common.errors import check_choice

Pool = Literal["mean", "max", "first"]
SubTokenMode = Literal["first", "avg"]

Layers = Literal["all", "top", "average", "normalized"]


def check_pooling(layers: str, pool: str = "mean") -> None:
    """
    Checks the `mode` of `pool_layers` and that of `pool_words`.

    # Raises

    `ConfigurationError`
        If one of them is unknown.
    """
    check_choice("layers", layers, get_args(Layers))
    check_choice("pool", pool, get_args(Pool))


def pool_layers(layers: numpy.ndarray, mode: str) -> numpy.ndarray:
    """
    Pools the layers of a language model.

    # Parameters

    layers : `numpy.ndarray`
        The vectors of the words of a sentence. Shape `(num_layers, length, dim)`.
    mode : `str`
        - `"all"`: all layers;
        - `"top"`: the last layer;
        - `"average"`: the mean of the layers;
        - `"normalized"`: the mean of the layers after layer normalization of each, so that layers
          with longer vectors do not dominate (Peters et al. 2018).

    # Returns

    `numpy.ndarray`
        Shape `(num_layers, length, dim)` with `"all"`, otherwise `(length, dim)`.
    """
    if mode == "top":
        return layers[-1]
    if mode == "normalized":
        layers = layer_norm(torch.from_numpy(layers), layers.shape[-1:]).numpy()
    return layers if mode == "all" else layers.mean(axis=0)


def join_layers(vectors: numpy.ndarray) -> numpy.ndarray:
    """
    Puts the layers of each word side by side, as in Perone et al. 2018
    (https://arxiv.org/abs/1806.06259).

    # Parameters

    vectors : `numpy.ndarray`
        The output of `pool_layers`. Shape `(length, dim)` or `(num_layers, length, dim)`.

    # Returns

    `numpy.ndarray`
        Shape `(length, dim)` or `(length, num_layers * dim)`.
    """
    return vectors if vectors.ndim == 2 else numpy.concatenate(vectors, axis=-1)


def pool_words(vectors: numpy.ndarray, mode: str) -> numpy.ndarray:
    """
    Pools the vectors of the words of a sentence.

    # Parameters

    vectors : `numpy.ndarray`
        As for `join_layers`.
    mode : `str`
        - `"mean"`: their mean;
        - `"max"`: the maximum of each element;
        - `"first"`: the vector of the first word.

    # Returns

    `numpy.ndarray`
        Zeros if there are no words. Shape `(dim,)` or, with the layers side by side,
        `(num_layers * dim,)`.
    """
    words = join_layers(vectors)
    if not len(words):
        return numpy.zeros(words.shape[1], words.dtype)
    if mode == "first":
        # Copy: a view would keep all words in memory.
        return words[0].copy()
    return words.max(axis=0) if mode == "max" else words.mean(axis=0)
