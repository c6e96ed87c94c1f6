"""
The functions of `torch_ops`, each as one CPU kernel of `native_kernels.cpp`, for values in
`float32` or `bfloat16`. Those of the projected LSTM take the tensors of one layer, without the
dimension `layers`. All arithmetic is in `float32`.
"""

from typing import Callable, Optional, Tuple, Union

import torch

from allennlp_semfit.modules.kernels.implementation import native_kernels
from allennlp_semfit.modules.kernels.torch_ops import new_bias_sums

__all__ = [
    "cell_backward",
    "cell_forward",
    "new_bias_sums",
    "norm_backward",
    "state_backward",
    "state_forward",
    "sum_rows",
]


def _run(
    kernel: Callable[..., None],
    values: torch.Tensor,
    *arguments: Union[torch.Tensor, float, None],
) -> None:
    """Runs a kernel on the rows of `values`, with the addresses of the tensors in `arguments`."""
    kernel(
        values.dtype == torch.bfloat16,
        len(values),
        torch.get_num_threads(),
        *[
            argument.data_ptr() if isinstance(argument, torch.Tensor) else argument or 0
            for argument in arguments
        ],
    )


def cell_forward(
    gates: torch.Tensor,
    recurrent_gates: Optional[torch.Tensor],
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: float,
    cell_state: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """As `torch_ops.cell_forward`."""
    states = (previous_cell_state, cell_state, hidden)
    sizes = (cell_state.size(1), clip_value)
    _run(native_kernels.cell_forward, gates, gates, recurrent_gates, bias, *states, *sizes)


def cell_backward(
    grad_hidden: torch.Tensor,
    gates: torch.Tensor,
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: float,
    cell_state: torch.Tensor,
    grad_cell_state: torch.Tensor,
    grad_gates: torch.Tensor,
    hidden: torch.Tensor,
    bias_sums: Optional[torch.Tensor],
) -> None:
    """As `torch_ops.cell_backward`."""
    read = (grad_hidden, gates, previous_cell_state, cell_state)
    written = (grad_cell_state, grad_gates, hidden)
    sizes = (cell_state.size(1), clip_value)
    _run(native_kernels.cell_backward, gates, *read, *written, *sizes)


def state_forward(
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    bias: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    state: torch.Tensor,
    recurrent: torch.Tensor,
) -> None:
    """As `torch_ops.state_forward`."""
    copy = None if recurrent.dtype == state.dtype else recurrent
    sizes = (projected.size(1), eps, clip_value)
    _run(native_kernels.state_forward, projected, projected, weight, bias, state, copy, *sizes)


def state_backward(
    grad_state: torch.Tensor,
    grad_recurrent: Optional[torch.Tensor],
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    grad_projected: torch.Tensor,
) -> None:
    """As `torch_ops.state_backward`."""
    recurrent = (grad_recurrent, 0 if grad_recurrent is None else len(grad_recurrent))
    tensors = (projected, weight, grad_projected)
    sizes = (projected.size(1), eps, clip_value)
    _run(native_kernels.state_backward, projected, grad_state, *recurrent, *tensors, *sizes)


def norm_backward(
    grad_state: torch.Tensor,
    projected: torch.Tensor,
    eps: float,
    clip_value: float,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """As `torch_ops.norm_backward`."""
    grads = grad_weight, grad_bias = grad_state.new_zeros(2, projected.size(1)).unbind()
    sizes = (projected.size(1), eps, clip_value)
    _run(native_kernels.norm_backward, projected, grad_state, projected, *grads, *sizes)
    return grad_weight, grad_bias


def sum_rows(rows: torch.Tensor) -> torch.Tensor:
    """As `torch_ops.sum_rows`."""
    total = rows.new_empty(rows.size(1), dtype=torch.float32)
    _run(native_kernels.sum_rows, rows, rows, total, rows.size(1))
    return total
