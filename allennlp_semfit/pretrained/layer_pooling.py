import numpy
import torch
from torch.nn.functional import layer_norm

__all__ = ["MODES", "pool_layers"]

MODES = ("all", "top", "average", "normalized")


def pool_layers(layers: numpy.ndarray, mode: str) -> numpy.ndarray:
    """
    Pools the layers of a language model.

    # Parameters

    layers : `numpy.ndarray`
        The vectors of the words of a sentence. Shape `(num_layers, length, dim)`.
    mode : `str`
        - `"all"`: all layers;
        - `"top"`: the last layer;
        - `"average"`: the mean of the layers, as in Li et al. 2019;
        - `"normalized"`: the mean of the layers after layer normalisation of each, so that layers
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
