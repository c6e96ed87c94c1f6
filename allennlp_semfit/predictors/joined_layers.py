import numpy
import torch
from torch.nn.functional import layer_norm

__all__ = ["WAYS", "join_layers"]

WAYS = ("all", "top", "average", "normalized")


def join_layers(layers: numpy.ndarray, way: str) -> numpy.ndarray:
    """
    # Parameters

    layers : `numpy.ndarray`
        Of the words of a sentence. Shape `(num_layers, length, dim)`.
    way : `str`
        `"all"`, the layers as they are; `"top"`, the last; `"average"`, their mean, as in Li et
        al. 2019; or `"normalized"`, the same once each word's vector in each layer has been moved
        and scaled to mean 0 and variance 1 over its elements, so that none drowns in a longer one,
        as Peters et al. 2018 have it where it helped.

    # Returns

    `numpy.ndarray`
        Shape `(num_layers, length, dim)` if it is `"all"`, otherwise `(length, dim)`.
    """
    if way == "top":
        return layers[-1]
    if way == "normalized":
        layers = layer_norm(torch.from_numpy(layers), layers.shape[-1:]).numpy()
    return layers if way == "all" else layers.mean(axis=0)
