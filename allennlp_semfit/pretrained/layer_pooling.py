import numpy
import torch
from torch.nn.functional import layer_norm

__all__ = ["MODES", "pool_layers"]

MODES = ("all", "top", "average", "normalized")


def pool_layers(layers: numpy.ndarray, mode: str) -> numpy.ndarray:
    """
    # Parameters

    layers : `numpy.ndarray`
        Of the words of a sentence. Shape `(num_layers, length, dim)`.
    mode : `str`
        `"all"`, the layers as they are; `"top"`, the last; `"average"`, their mean, as in Li et
        al. 2019; or `"normalized"`, the same once each word's vector in each layer has been moved
        and scaled to mean 0 and variance 1 over its elements, so that none drowns in a longer one,
        as Peters et al. 2018 have it where it helped.

    # Returns

    `numpy.ndarray`
        Shape `(num_layers, length, dim)` if it is `"all"`, otherwise `(length, dim)`.
    """
    if mode == "top":
        return layers[-1]
    if mode == "normalized":
        layers = layer_norm(torch.from_numpy(layers), layers.shape[-1:]).numpy()
    return layers if mode == "all" else layers.mean(axis=0)
