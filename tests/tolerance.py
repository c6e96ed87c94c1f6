"""The tolerance for results that are computed in two ways, which round in different orders."""

from typing import Any

import torch

# For float32 vectors with elements of about 1. A sum of up to a hundred products has an error of
# about 10 eps. It passes through a few layers and recurrences, and grows where a layer norm divides
# by a small deviation. A wrong word or boundary changes elements by 1% or more.
_ROUNDINGS = 512


def assert_same_but_for_rounding(actual: Any, expected: Any) -> None:
    """
    Compares what a whole model computes in float32 with what it computes in another batch or in
    another module, where matrix products have other shapes and use other kernels.
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
