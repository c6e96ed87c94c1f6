"""Averages over tokens, independent of how the tokens are batched."""

from typing import Optional

import torch
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric


class _RunningMean(Metric):
    """The mean of vectors over all batches and processes since the last reset."""

    def __init__(self) -> None:
        # The sum of the vectors and, as the last element, their number, in one tensor, so that the
        # processes exchange one message per batch.
        self._sums: Optional[torch.Tensor] = None

    def _add(self, vectors: torch.Tensor) -> None:
        # A sum in `float64` would first convert all vectors.
        dtype = torch.promote_types(vectors.dtype, torch.float32)
        sums = vectors.detach().sum(dim=0, dtype=dtype).double()
        count = sums.new_full((1,), vectors.size(0))
        sums = dist_reduce_sum(torch.cat([sums, count]))
        if self._sums is not None:
            # The model may have been moved since.
            sums = sums + self._sums.to(sums.device)
        self._sums = sums

    def _get_mean(self, reset: bool) -> torch.Tensor:
        sums = torch.zeros(2) if self._sums is None else self._sums
        if reset:
            self.reset()
        return sums[:-1] / sums[-1].clamp_min(1)

    def reset(self) -> None:
        self._sums = None


class TokenAverage(_RunningMean):
    """The mean of one value for each token."""

    def __call__(self, values: torch.Tensor) -> None:  # type: ignore[override]
        """Adds one value for each token, in a tensor of any shape."""
        self._add(values.reshape(-1, 1))

    def get_metric(self, reset: bool = False) -> float:
        """The mean; 0 without any tokens."""
        return self._get_mean(reset).item()


class BaselineCosine(_RunningMean):
    """
    The mean cosine of the best constant prediction: the largest mean cosine between a constant
    vector and the given directions. It is the norm of the mean direction.
    """

    def __call__(self, directions: torch.Tensor) -> None:  # type: ignore[override]
        """Adds directions: vectors of unit norm, shape `(N, dim)`."""
        self._add(directions)

    def get_metric(self, reset: bool = False) -> float:
        """The cosine, between 0 and 1; 0 without any directions."""
        return torch.linalg.vector_norm(self._get_mean(reset)).item()
