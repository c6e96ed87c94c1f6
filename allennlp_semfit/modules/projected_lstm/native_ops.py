"""
The functions of `torch_ops`, each as one CPU kernel of `native_kernels.cpp`. They take the tensors
of one layer, without the dimension `layers`, in `float32` or `bfloat16`. All arithmetic is in
`float32`.
"""

import math
from typing import Optional, Tuple

import torch

from allennlp_semfit.modules.implementation import native_arguments, native_kernels

__all__ = [
    "cell_backward",
    "cell_forward",
    "norm_backward",
    "state_backward",
    "state_forward",
    "sum_rows",
]


def _bound(clip_value: Optional[float]) -> float:
    return math.inf if clip_value is None else clip_value


def cell_forward(
    gates: torch.Tensor,
    recurrent_gates: Optional[torch.Tensor],
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: Optional[float],
    cell_state: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """As `torch_ops.cell_forward`."""
    tensors = (gates, recurrent_gates, bias, previous_cell_state, cell_state, hidden)
    arguments = native_arguments(gates, *tensors)
    native_kernels.cell_forward(*arguments, hidden.size(1), _bound(clip_value))


def cell_backward(
    grad_hidden: torch.Tensor,
    gates: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: Optional[float],
    cell_state: torch.Tensor,
    grad_cell_state: torch.Tensor,
    grad_gates: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """As `torch_ops.cell_backward`."""
    states = (gates, previous_cell_state, cell_state)
    tensors = (grad_hidden, *states, grad_cell_state, grad_gates, hidden)
    arguments = native_arguments(gates, *tensors)
    native_kernels.cell_backward(*arguments, hidden.size(1), _bound(clip_value))


def state_forward(
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    bias: Optional[torch.Tensor],
    eps: Optional[float],
    clip_value: Optional[float],
    state: torch.Tensor,
    recurrent: torch.Tensor,
) -> None:
    """As `torch_ops.state_forward`."""
    copy = None if recurrent.dtype == state.dtype else recurrent
    arguments = native_arguments(projected, projected, weight, bias, state, copy)
    size = projected.size(1)
    native_kernels.state_forward(*arguments, size, eps or 0.0, _bound(clip_value))


def state_backward(
    grad_state: torch.Tensor,
    grad_recurrent: Optional[torch.Tensor],
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: Optional[float],
    clip_value: Optional[float],
    grad_projected: torch.Tensor,
) -> None:
    """As `torch_ops.state_backward`."""
    native_kernels.state_backward(
        *native_arguments(projected, grad_state, grad_recurrent),
        0 if grad_recurrent is None else len(grad_recurrent),
        projected.data_ptr(),
        0 if weight is None else weight.data_ptr(),
        grad_projected.data_ptr(),
        projected.size(1),
        eps or 0.0,
        _bound(clip_value),
    )


def norm_backward(
    grad_state: torch.Tensor,
    projected: torch.Tensor,
    eps: float,
    clip_value: Optional[float],
) -> Tuple[torch.Tensor, torch.Tensor]:
    """As `torch_ops.norm_backward`."""
    size = projected.size(1)
    grad_weight, grad_bias = grad_state.new_zeros(2, size)
    arguments = native_arguments(projected, grad_state, projected, grad_weight, grad_bias)
    native_kernels.norm_backward(*arguments, size, eps, _bound(clip_value))
    return grad_weight, grad_bias


def sum_rows(rows: torch.Tensor) -> torch.Tensor:
    """As `torch_ops.sum_rows`."""
    total = rows.new_empty(rows.size(1), dtype=torch.float32)
    native_kernels.sum_rows(*native_arguments(rows, rows, total), rows.size(1))
    return total
