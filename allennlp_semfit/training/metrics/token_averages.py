"""Averages in which each token weighs the same, however the tokens were batched."""

from typing import Union

import torch
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric
from torch.nn.functional import normalize

__all__ = ["MeanDirection", "TokenAverage"]


@Metric.register("token_average")
class TokenAverage(Metric):
    """
    The mean of a value that each token has.

    Registered as a `Metric` with name "token_average".
    """

    def __init__(self) -> None:
        self._total: Union[float, torch.Tensor] = 0.0
        self._count = 0

    def __call__(self, values: torch.Tensor) -> None:  # type: ignore[override]
        """
        # Parameters

        values : `torch.Tensor`
            One value for each token, of any shape.
        """
        (values,) = self.detach_tensors(values)
        # The sum stays on the device: fetching it would make the device wait at every batch.
        self._total = self._total + dist_reduce_sum(values.sum(dtype=torch.float64))
        self._count += dist_reduce_sum(values.numel())

    def get_metric(self, reset: bool = False) -> float:
        """
        # Returns

        `float`
            The mean; 0 if there was no token.
        """
        mean = float(self._total) / max(self._count, 1)
        if reset:
            self.reset()
        return mean

    def reset(self) -> None:
        self._total = 0.0
        self._count = 0


@Metric.register("mean_direction")
class MeanDirection(Metric):
    """
    How well one fixed answer could do: the mean cosine between the vectors and the one vector for
    which this is largest. That is the mean of their directions, and the mean cosine its length.

    Registered as a `Metric` with name "mean_direction".
    """

    def __init__(self) -> None:
        self._total: Union[float, torch.Tensor] = 0.0
        self._count = 0

    def __call__(self, vectors: torch.Tensor) -> None:  # type: ignore[override]
        """
        # Parameters

        vectors : `torch.Tensor`
            Shape `(N, dim)`.
        """
        (vectors,) = self.detach_tensors(vectors)
        directions = normalize(vectors.float(), dim=-1)
        self._total = self._total + dist_reduce_sum(directions.sum(dim=0, dtype=torch.float64))
        self._count += dist_reduce_sum(vectors.size(0))

    def get_metric(self, reset: bool = False) -> float:
        """
        # Returns

        `float`
            Between 0 and 1; 0 if there was no vector.
        """
        length = float(torch.as_tensor(self._total).norm()) / max(self._count, 1)
        if reset:
            self.reset()
        return length

    def reset(self) -> None:
        self._total = 0.0
        self._count = 0
