"""How far apart may be what is computed in two ways: each CPU rounds in an order of its own."""

from typing import Any

import torch

# Of float32 vectors of about 1. A sum of up to a hundred products is off by some 10 eps; that goes
# through a few layers and recurrences, and where a layer norm divides by a small deviation, it
# grows. A wrong word or boundary changes 1% and more.
_ROUNDINGS = 512


def assert_same_but_for_rounding(actual: Any, expected: Any) -> None:
    """
    What a whole model computes in float32 is what it computes in another batch or by another
    module: the matrix products have other shapes then, and so other kernels.
    """
    tolerance = _ROUNDINGS * torch.finfo(torch.float32).eps
    torch.testing.assert_close(
        torch.as_tensor(actual),
        torch.as_tensor(expected),
        rtol=tolerance,
        atol=tolerance,
        check_dtype=False,
    )


def assert_as_exact_as(
    actual: torch.Tensor, plain: torch.Tensor, exact: torch.Tensor, margin: float = 8
) -> None:
    """
    The largest error is no larger than `margin` times that of a plain computation in the same
    precision, both of them against one in float64. Since that may be exact by chance, `margin`
    roundings of the largest value are allowed besides.
    """
    assert actual.dtype == plain.dtype
    assert exact.dtype == torch.float64
    assert actual.shape == plain.shape == exact.shape
    error = (actual.double() - exact).abs().max().item()
    plain_error = (plain.double() - exact).abs().max().item()
    rounding = torch.finfo(actual.dtype).eps * exact.abs().max().item()
    bound = margin * (plain_error + rounding)
    assert error <= bound, f"an error of {error:.2g}, where up to {bound:.2g} is by rounding"
