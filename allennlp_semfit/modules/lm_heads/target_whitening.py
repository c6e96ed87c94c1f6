"""Whitening of target vectors."""

from typing import Any, Optional

import torch
from allennlp.common.util import is_distributed

__all__ = ["TargetWhitening"]

# The number of tokens, for each dimension, from which mean and covariance are estimated.
_MIN_TOKENS_PER_DIM = 1000


class TargetWhitening(torch.nn.Module):
    """
    Whitens vectors, after scaling them to unit norm:
    `(w / |w| - mean) covariance^(-1/2) / sqrt(m)`. Word vectors share a common direction: after
    training on a small corpus, their mean can have more than half of their norm. After whitening,
    the mean is 0 and the variance is the same in all directions.

    Mean and covariance are estimated from the first training batches with `1000 m` tokens in total,
    boundary tokens included, and then stay fixed. All processes share them, and an archive contains
    them. The training text must be in random order, so that its start is representative. The
    covariance is regularised as if `m` more tokens had been seen whose variance is the same in all
    directions.

    Of all whitening matrices, the symmetric root changes the vectors least (Kessy et al. 2018,
    "Optimal Whitening and Decorrelation"). Mu and Viswanath 2018, "All-but-the-Top", show that word
    vectors improve when their common components are removed.

    # Parameters

    dim : `int`
        `m`, the dimension of the vectors.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.mean: torch.Tensor
        self.transform: torch.Tensor
        self.sums: torch.Tensor
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("transform", torch.eye(dim))
        # The number of targets so far, the sum of their directions, and that of the outer products.
        self.register_buffer("sums", torch.zeros(1 + dim + dim * dim))
        self._is_fitted = False

    @property
    def is_fitted(self) -> bool:
        """Whether mean and covariance are final."""
        # Cached, because reading `sums` waits for the device.
        self._is_fitted = self._is_fitted or bool(self.sums[0] >= _MIN_TOKENS_PER_DIM * self.dim)
        return self._is_fitted

    @torch.no_grad()
    def update(self, targets: torch.Tensor, mask: Optional[torch.Tensor] = None) -> None:
        """
        Adds targets, shape `(..., m)`, to the estimates of mean and covariance, unless these are
        final. Those where `mask`, shape `(...)`, is `False` do not count. In distributed training,
        all processes must call it equally often.
        """
        if self.is_fitted:
            return
        with torch.autocast(targets.device.type, enabled=False):
            directions = torch.nn.functional.normalize(targets.float(), dim=-1)
            # A zero vector has no direction.
            is_used = directions.any(dim=-1)
            directions = directions[is_used if mask is None else is_used & mask]
            moments = directions.T @ directions
            count = moments.new_full((1,), len(directions))
            sums = torch.cat([count, directions.sum(0), moments.flatten()])
            if is_distributed():
                torch.distributed.all_reduce(sums)
            self.sums += sums
            if self.sums[0] > 0:
                self._fit()

    def _fit(self) -> None:
        count = self.sums[0].double()
        mean = self.sums[1 : 1 + self.dim].double() / count
        moments = self.sums[1 + self.dim :].view(self.dim, self.dim).double() / count
        covariance = moments - torch.outer(mean, mean)
        variance = covariance.trace() / self.dim
        if variance < 1e-6:
            # All targets are the same, up to rounding.
            return
        covariance.diagonal().add_(self.dim / count * variance)
        variances, directions = torch.linalg.eigh(covariance)
        scales = (self.dim * variances).rsqrt()
        self.mean.copy_(mean)
        self.transform.copy_(directions * scales @ directions.T)

    def forward(self, targets: torch.Tensor) -> torch.Tensor:
        """
        The whitened targets, shape `(..., m)`, of type `float32` or, if it is more precise, the
        targets' type. Their mean squared norm is about 1. Zero vectors stay zero.
        """
        dtype = torch.promote_types(targets.dtype, torch.float32)
        with torch.autocast(targets.device.type, enabled=False):
            directions = torch.nn.functional.normalize(targets.to(dtype), dim=-1)
            whitened = (directions - self.mean.to(dtype)) @ self.transform.to(dtype)
            return whitened * directions.any(dim=-1, keepdim=True)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._is_fitted = False
        super()._load_from_state_dict(*args, **kwargs)
