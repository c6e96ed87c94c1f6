"""Target vectors that differ as much in one direction as in any other."""

from typing import Any, Optional

import torch
from allennlp.common.util import is_distributed

__all__ = ["TargetWhitening"]

# From so many tokens a dimension, mean and covariance are taken.
_ENOUGH = 1000


class TargetWhitening(torch.nn.Module):
    """
    Takes from the direction of each vector what all have in common, and stretches the rest until no
    direction has more of it than another: `(w / |w| - mean) covariance^(-1/2) / sqrt(m)`, mean and
    covariance being those of the tokens as they occur, boundaries included. Vectors of words share
    a direction, those of a small corpus more than half of their length; whitened, they differ in
    what tells the words apart.

    Mean and covariance are taken from the first tokens of the training, `1000 m` of them or a batch
    more, and stay as they are from then on; all processes have the same, and they are archived. The
    text must therefore be in random order, or its first book decides. To the covariance is added
    what `m` more tokens would add whose vectors spread alike in all directions, so that few tokens,
    or directions in which there is next to nothing, do no harm.

    The symmetric root is the one that changes the vectors least (Kessy et al. 2018, "Optimal
    Whitening and Decorrelation"). That vectors of words serve better without what they have in
    common, was shown by Mu and Viswanath 2018, "All-but-the-Top".

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
        # Of what the targets were so far: their number, and of directions the sum and the sum of
        # outer products.
        self.register_buffer("sums", torch.zeros(1 + dim + dim * dim))
        self._is_fitted = False

    @property
    def is_fitted(self) -> bool:
        """Whether mean and covariance are settled, and no more targets count."""
        # Once they are, the device is not asked again.
        self._is_fitted = self._is_fitted or bool(self.sums[0] >= _ENOUGH * self.dim)
        return self._is_fitted

    @torch.no_grad()
    def update(self, targets: torch.Tensor, mask: Optional[torch.Tensor] = None) -> None:
        """
        Counts these targets in, if there are not enough yet. All processes must call it as often.

        # Parameters

        targets : `torch.Tensor`
            Shape `(..., m)`.
        mask : `torch.BoolTensor`, optional (default = `None`)
            Which of them count. Shape `(...)`.
        """
        if self.is_fitted:
            return
        with torch.autocast(targets.device.type, enabled=False):
            directions = torch.nn.functional.normalize(targets.float(), dim=-1)
            # Zero has no direction.
            counts = directions.any(dim=-1)
            directions = directions[counts if mask is None else counts & mask]
            moments = directions.T @ directions
            number = moments.new_full((1,), len(directions))
            sums = torch.cat([number, directions.sum(0), moments.flatten()])
            if is_distributed():
                torch.distributed.all_reduce(sums)
            self.sums += sums
            if self.sums[0] > 0:
                self._fit()

    def _fit(self) -> None:
        number = self.sums[0].double()
        mean = self.sums[1 : 1 + self.dim].double() / number
        moments = self.sums[1 + self.dim :].view(self.dim, self.dim).double() / number
        covariance = moments - torch.outer(mean, mean)
        variance = covariance.trace() / self.dim
        if variance < 1e-6:
            # They are all one, but for rounding.
            return
        covariance.diagonal().add_(self.dim / number * variance)
        variances, directions = torch.linalg.eigh(covariance)
        scales = (self.dim * variances).rsqrt()
        self.mean.copy_(mean)
        self.transform.copy_(directions * scales @ directions.T)

    def forward(self, targets: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        targets : `torch.Tensor`
            Shape `(..., m)`.

        # Returns

        `torch.Tensor`
            Shape `(..., m)`, in single precision or, if theirs is more, in that; zero for zero.
            Once enough tokens are counted, the mean square of their lengths is 1.
        """
        dtype = torch.promote_types(targets.dtype, torch.float32)
        with torch.autocast(targets.device.type, enabled=False):
            directions = torch.nn.functional.normalize(targets.to(dtype), dim=-1)
            whitened = (directions - self.mean.to(dtype)) @ self.transform.to(dtype)
            return whitened * directions.any(dim=-1, keepdim=True)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._is_fitted = False
        super()._load_from_state_dict(*args, **kwargs)
