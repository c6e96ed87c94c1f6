"""Centering and whitening of target vectors."""

from typing import Any, Optional

import torch
from allennlp.common.util import is_distributed

from allennlp_semfit.functional import unit_vectors

# The number of tokens, for each dimension, from which mean and covariance are estimated.
_MIN_TOKENS_PER_DIM = 1000
# Below this variance, treat all targets as identical.
_MIN_VARIANCE = 1e-12


class TargetCentering(torch.nn.Module):
    """
    Subtracts the mean from vectors, after scaling them to unit norm: `w / |w| - mean`. Word vectors
    share a common direction: after training on a small corpus, the norm of their mean can exceed
    half of theirs.

    The mean is estimated from the first training batches with `1000 m` tokens in total, boundary
    tokens included, and then stays fixed. All processes share it, and an archive contains it. The
    training text must be in random order, so that its start is representative.

    # Parameters

    dim : `int`
        `m`, the dimension of the vectors.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.mean: torch.Tensor
        self.sums: torch.Tensor
        self.register_buffer("mean", torch.zeros(dim))
        # The number of targets so far and the sums of their statistics.
        num_statistics = len(self._statistics(torch.zeros(0, dim)))
        # In float64, because the moments of similar vectors cancel in the covariance.
        self.register_buffer("sums", torch.zeros(1 + num_statistics, dtype=torch.double))
        self._is_fitted = False

    @property
    def is_fitted(self) -> bool:
        """Whether the estimates are final."""
        # Cached, because reading `sums` waits for the device.
        self._is_fitted = self._is_fitted or bool(self.sums[0] >= _MIN_TOKENS_PER_DIM * self.dim)
        return self._is_fitted

    @torch.no_grad()
    def update(self, targets: torch.Tensor, mask: Optional[torch.Tensor] = None) -> None:
        """
        Adds targets, shape `(..., m)`, to the estimates, unless the estimates are final. Targets
        where `mask`, shape `(...)`, is `False` do not count. In distributed training, all processes
        must call this method equally often.
        """
        if self.is_fitted:
            return
        with torch.autocast(targets.device.type, enabled=False):
            directions = unit_vectors(targets.double())  # (..., dim)
            # Skip zero vectors.
            is_used = directions.any(dim=-1)
            # (num_targets, dim)
            directions = directions[is_used if mask is None else is_used & mask]
            count = directions.new_full((1,), len(directions))
            sums = torch.cat([count, self._statistics(directions)])
            if is_distributed():
                torch.distributed.all_reduce(sums)
            self.sums += sums
            if self.sums[0] > 0:
                self._fit(self.sums[1:] / self.sums[0])

    def forward(self, targets: torch.Tensor) -> torch.Tensor:
        """
        The transformed targets, shape `(..., m)`, of type `float32` or, if it is more precise, the
        targets' type. Zero vectors stay zero.
        """
        with torch.autocast(targets.device.type, enabled=False):
            directions = unit_vectors(targets)  # (..., dim)
            transformed = self._transform(directions - self.mean.to(directions.dtype))
            return transformed * directions.any(dim=-1, keepdim=True)

    def _statistics(self, directions: torch.Tensor) -> torch.Tensor:
        """Returns the sums over all targets; `_fit` receives the means."""
        return directions.sum(0)

    def _fit(self, means: torch.Tensor) -> None:
        self.mean.copy_(means)

    def _transform(self, centered: torch.Tensor) -> torch.Tensor:
        return centered

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._is_fitted = False
        super()._load_from_state_dict(*args, **kwargs)


class TargetWhitening(TargetCentering):
    """
    Whitens vectors, after scaling them to unit norm:
    `(w / |w| - mean) covariance^(-1/2) / sqrt(m)`. After whitening, the mean is 0, the variance is
    the same in all directions, and the mean squared norm is about 1.

    Mean and covariance are estimated as in `TargetCentering`. The covariance is regularized as if
    `m` more tokens had been seen whose variance is the same in all directions. If all targets are
    the same, they are only scaled to unit norm.

    The symmetric root is the whitening matrix that changes the vectors least (Kessy et al. 2018,
    "Optimal Whitening and Decorrelation"). Mu and Viswanath 2018, "All-but-the-Top", show that word
    vectors improve when their common components are removed.

    # Parameters

    dim : `int`
        `m`, the dimension of the vectors.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.transform: torch.Tensor
        self.register_buffer("transform", torch.eye(dim))

    def _statistics(self, directions: torch.Tensor) -> torch.Tensor:
        return torch.cat([directions.sum(0), (directions.T @ directions).flatten()])

    def _fit(self, means: torch.Tensor) -> None:
        mean, moments = means[: self.dim], means[self.dim :].view(self.dim, self.dim)
        covariance = moments - torch.outer(mean, mean)
        variance = covariance.trace() / self.dim
        if variance < _MIN_VARIANCE:
            return
        covariance.diagonal().add_(self.dim / self.sums[0] * variance)
        variances, directions = torch.linalg.eigh(covariance)
        scales = (self.dim * variances).rsqrt()
        self.mean.copy_(mean)
        self.transform.copy_(directions * scales @ directions.T)

    def _transform(self, centered: torch.Tensor) -> torch.Tensor:
        return centered @ self.transform.to(centered.dtype)
