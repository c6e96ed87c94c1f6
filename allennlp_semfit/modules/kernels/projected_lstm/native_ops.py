"""
The functions of `torch_ops`, each as one CPU kernel of `native_kernels.cpp`. They take the tensors
of one layer, without the dimension `layers`, in `float32` or `bfloat16`. All arithmetic is in
`float32`.
"""

import math
from typing import Optional, Tuple

import torch

from allennlp_semfit.modules.kernels.implementation import native_kernels

__all__ = [
    "cell_backward",
    "cell_forward",
    "norm_backward",
    "state_backward",
    "state_forward",
    "sum_rows",
]


def _address(tensor: Optional[torch.Tensor]) -> int:
    return 0 if tensor is None else tensor.data_ptr()


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
    native_kernels.cell_forward(
        gates.dtype == torch.bfloat16,
        len(cell_state),
        torch.get_num_threads(),
        gates.data_ptr(),
        _address(recurrent_gates),
        bias.data_ptr(),
        _address(previous_cell_state),
        cell_state.data_ptr(),
        hidden.data_ptr(),
        cell_state.size(1),
        _bound(clip_value),
    )


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
    native_kernels.cell_backward(
        gates.dtype == torch.bfloat16,
        len(cell_state),
        torch.get_num_threads(),
        grad_hidden.data_ptr(),
        gates.data_ptr(),
        _address(previous_cell_state),
        cell_state.data_ptr(),
        grad_cell_state.data_ptr(),
        grad_gates.data_ptr(),
        hidden.data_ptr(),
        cell_state.size(1),
        _bound(clip_value),
    )


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
    native_kernels.state_forward(
        projected.dtype == torch.bfloat16,
        len(projected),
        torch.get_num_threads(),
        projected.data_ptr(),
        _address(weight),
        _address(bias),
        state.data_ptr(),
        0 if recurrent.dtype == state.dtype else recurrent.data_ptr(),
        projected.size(1),
        eps or 0.0,
        _bound(clip_value),
    )


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
        projected.dtype == torch.bfloat16,
        len(projected),
        torch.get_num_threads(),
        grad_state.data_ptr(),
        _address(grad_recurrent),
        0 if grad_recurrent is None else len(grad_recurrent),
        projected.data_ptr(),
        _address(weight),
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
    grad_weight, grad_bias = grad_state.new_zeros(2, projected.size(1))
    native_kernels.norm_backward(
        projected.dtype == torch.bfloat16,
        len(projected),
        1,
        grad_state.data_ptr(),
        projected.data_ptr(),
        grad_weight.data_ptr(),
        grad_bias.data_ptr(),
        projected.size(1),
        eps,
        _bound(clip_value),
    )
    return grad_weight, grad_bias


def sum_rows(rows: torch.Tensor) -> torch.Tensor:
    """As `torch_ops.sum_rows`."""
    total = rows.new_empty(rows.size(1), dtype=torch.float32)
    native_kernels.sum_rows(
        rows.dtype == torch.bfloat16,
        len(rows),
        torch.get_num_threads(),
        rows.data_ptr(),
        total.data_ptr(),
        rows.size(1),
    )
    return total
