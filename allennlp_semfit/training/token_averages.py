from typing import Optional

import torch
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric


class TokenAverage(Metric):
    """
    The mean over all tokens since the last reset, however they are batched: of one value, or of one
    unit vector, for each token. A mean of unit vectors is reported as its norm, which is the mean
    cosine between them and the best constant prediction.
    """

    def __init__(self) -> None:
        # The sum of the values or vectors and, as the last element, their number, in one tensor, so
        # that the processes exchange one message per batch.
        self._sums: Optional[torch.Tensor] = None
        self._has_directions = False

    def __call__(self, values: torch.Tensor) -> None:  # type: ignore[override]
        """Adds values, shape `(N,)`, or vectors of unit norm, shape `(N, dim)`."""
        self._has_directions = values.dim() > 1
        values = values.detach() if self._has_directions else values.detach().unsqueeze(-1)
        # A sum in `float64` would first convert all vectors.
        dtype = torch.promote_types(values.dtype, torch.float32)
        sums = values.sum(dim=0, dtype=dtype).double()
        sums = dist_reduce_sum(torch.cat([sums, sums.new_full((1,), len(values))]))
        # The model may have been moved since.
        self._sums = sums if self._sums is None else sums + self._sums.to(sums.device)

    def get_metric(self, reset: bool = False) -> float:
        """The mean, or its norm; 0 without any tokens."""
        sums = torch.zeros(2) if self._sums is None else self._sums
        if reset:
            self.reset()
        mean = sums[:-1] / sums[-1].clamp_min(1)
        return (torch.linalg.vector_norm(mean) if self._has_directions else mean).item()

    def reset(self) -> None:
        self._sums = None
