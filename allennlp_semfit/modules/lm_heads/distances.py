"""
Distances of a predicted vector to the target word's vector: section 4.1 of Li et al. 2019,
"Efficient Contextual Representation Learning Without Softmax Layer", after Kumar and Tsvetkov 2019,
"Von Mises-Fisher Loss for Training Sequence to Sequence Models with Continuous Outputs".

Inputs in half precision are converted to `float32`.
"""

import math
from typing import Any, Tuple

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.modules.kernels.autograd import differentiable_once

__all__ = [
    "CosineDistance",
    "Distance",
    "L2Distance",
    "NllVmfDistance",
    "cosine",
    "log_vmf_normalizer",
    "predicted_direction",
    "upcast_half",
]


def cosine(context: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """`-(c / |c|) . (w / |w|)`, shape `(...)`, of vectors of shape `(..., m)`."""
    target = torch.nn.functional.normalize(upcast_half(target), dim=-1)
    return -(predicted_direction(context) * target).sum(dim=-1)


def log_vmf_normalizer(concentration: torch.Tensor, dim: int) -> torch.Tensor:
    """
    `log C_m(k) = (m/2 - 1) log k - (m/2) log 2 pi - log I_{m/2-1}(k)`, where `I` is the modified
    Bessel function of the first kind. Differentiable once, with the exact derivative
    `-I_{m/2}(k) / I_{m/2-1}(k)`. Neither value nor derivative over- or underflows.

    `concentration` is `k`, non-negative and of any shape, which the result has too; `dim` is `m`, 2
    or more.
    """
    return _LogVmfNormalizer.apply(concentration, dim)


class _LogVmfNormalizer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, concentration: torch.Tensor, dim: int) -> torch.Tensor:
        order = dim / 2 - 1
        # The terms below cancel, so compute in float64: it is one number for each target.
        # log k is infinite at k = 0, but log C is finite and flat there.
        k = concentration.double().clamp_min(1e-8)
        log_bessel, ratio = _log_bessel_and_ratio(order, k)
        ctx.save_for_backward(ratio.to(concentration.dtype))
        log_normalizer = order * k.log() - dim / 2 * math.log(2 * math.pi) - log_bessel
        return log_normalizer.to(concentration.dtype)

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, grad_output: torch.Tensor) -> Tuple[torch.Tensor, None]:
        (ratio,) = ctx.saved_tensors
        return -ratio * grad_output, None


# For orders from this one on, five terms of Debye's expansion are accurate to 1e-9.
_LARGE_ORDER = 30


def _log_bessel_and_ratio(order: float, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    `log I_v(x)` and `I_{v+1}(x) / I_v(x)` for `x > 0`. Starts at an order that is large enough for
    Debye's expansion and steps down to `v` with the recurrence of the ratios,
    `I_v / I_{v-1} = 1 / (2 v / x + I_{v+1} / I_v)`, which is stable in this direction
    (DLMF 10.29.1).
    """
    steps = max(0, math.ceil(_LARGE_ORDER - order))
    start_order = order + steps
    log_bessel = _debye_log_bessel(start_order, x)
    ratio = (_debye_log_bessel(start_order + 1, x) - log_bessel).exp()
    for step in range(steps):
        ratio = 1 / (2 * (start_order - step) / x + ratio)
        log_bessel = log_bessel - ratio.log()
    return log_bessel, ratio


def _debye_log_bessel(order: float, x: torch.Tensor) -> torch.Tensor:
    """`log I_v(x)` by Debye's uniform expansion (DLMF 10.41.3, the polynomials 10.41.10)."""
    z = x / order
    root = (1 + z * z).sqrt()
    p = 1 / root
    p2 = p * p
    u1 = p * (3 - 5 * p2) / 24
    u2 = p2 * (81 - 462 * p2 + 385 * p2**2) / 1152
    u3 = p * p2 * (30375 - 369603 * p2 + 765765 * p2**2 - 425425 * p2**3) / 414720
    u4 = (
        p2**2
        * (4465125 - 94121676 * p2 + 349922430 * p2**2 - 446185740 * p2**3 + 185910725 * p2**4)
        / 39813120
    )
    series = u1 / order + u2 / order**2 + u3 / order**3 + u4 / order**4
    exponent = order * (root + (z / (1 + root)).log())
    return exponent - 0.5 * math.log(2 * math.pi * order) - 0.5 * root.log() + series.log1p()


class Distance(Registrable):
    """
    The loss of the Semfit head. It is called with the predicted vectors `c` and the target vectors
    `w`, both of shape `(..., m)`, and returns the distances, shape `(...)`.
    """

    default_implementation = "cosine"

    def __call__(self, context: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def initial_prediction(
        self, mean_target: torch.Tensor, mean_direction: torch.Tensor
    ) -> torch.Tensor:
        """
        The constant prediction that training starts from. By default it is the mean direction of
        the targets, scaled so that its elements are about 1/3. An optimizer such as Adam changes
        each element by about the learning rate in an update, so the scale sets how fast the
        direction changes: with a much smaller norm too fast at first, with a larger one too slowly.

        # Parameters

        mean_target : `torch.Tensor`
            The mean of the targets. Shape `(m,)`.
        mean_direction : `torch.Tensor`
            The mean of the targets, each scaled to unit norm. Shape `(m,)`.

        # Returns

        `torch.Tensor`
            Shape `(m,)`.
        """
        return len(mean_direction) ** 0.5 / 3 * mean_direction


@Distance.register("cosine")
class CosineDistance(Distance):
    """
    The paper's distance, `-(c / |c|) . (w / |w|)`: between -1 and 1.

    Registered as a `Distance` with name "cosine", the default.
    """

    def __call__(self, context: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return cosine(context, target)


@Distance.register("l2")
class L2Distance(Distance):
    """
    `|c - w|^2`; the target is not normalised.

    Registered as a `Distance` with name "l2".
    """

    def __call__(self, context: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (upcast_half(context) - upcast_half(target)).square().sum(dim=-1)

    def initial_prediction(
        self, mean_target: torch.Tensor, mean_direction: torch.Tensor
    ) -> torch.Tensor:
        """The mean of the targets. See [`Distance`](#distance)."""
        return mean_target


@Distance.register("nllvmf")
class NllVmfDistance(Distance):
    """
    `-log C_m(|c|) - lambda_2 c . (w / |w|) + lambda_1 |c|`: the negative log-likelihood of the
    target's direction under a von Mises-Fisher distribution with mean direction `c / |c|` and
    concentration `|c|`, with both regularisation terms of Kumar and Tsvetkov, and their defaults.

    Registered as a `Distance` with name "nllvmf".

    # Parameters

    lambda_1 : `float`, optional (default = `0.02`)
        The weight of the penalty on the norm of the context vector.
    lambda_2 : `float`, optional (default = `0.1`)
        The weight of the dot product.

    # Raises

    `ConfigurationError`
        If `lambda_1` or `lambda_2` is negative.

    # Example

    ```json
    "distance": {"type": "nllvmf", "lambda_1": 0.02, "lambda_2": 0.1}
    ```
    """

    def __init__(self, lambda_1: float = 0.02, lambda_2: float = 0.1) -> None:
        for name, value in (("lambda_1", lambda_1), ("lambda_2", lambda_2)):
            if value < 0:
                raise ConfigurationError(f"nllvmf: `{name}` is {value}; it must be at least 0.")
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2

    def __call__(self, context: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        context = upcast_half(context)
        target = torch.nn.functional.normalize(upcast_half(target), dim=-1)
        concentration = torch.linalg.vector_norm(context, dim=-1)
        log_normalizer = log_vmf_normalizer(concentration, context.size(-1))
        dot_product = (context * target).sum(dim=-1)
        return -log_normalizer - self.lambda_2 * dot_product + self.lambda_1 * concentration

    def initial_prediction(
        self, mean_target: torch.Tensor, mean_direction: torch.Tensor
    ) -> torch.Tensor:
        """
        The mean direction, scaled so that its elements are about 1: the norm is the concentration
        of the predicted distribution. See [`Distance`](#distance).
        """
        return len(mean_direction) ** 0.5 * mean_direction


def predicted_direction(context: torch.Tensor) -> torch.Tensor:
    """
    `c / |c|`, which is zero for a zero vector, with a gradient that is finite in the type of
    `context`. Both have the shape `(..., m)`.
    """
    # The gradient of a vector shorter than this is as large as its inverse.
    eps = 1e-3 if context.dtype == torch.float16 else 1e-8
    return torch.nn.functional.normalize(upcast_half(context), dim=-1, eps=eps)


def upcast_half(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in `float32` if it is in half precision."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
