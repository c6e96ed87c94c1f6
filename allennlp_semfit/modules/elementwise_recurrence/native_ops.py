"""
The functions of `torch_ops`, each as one CPU kernel of `native_kernels.cpp`, for gates in `float32`
or `bfloat16`. All arithmetic is in `float32`.
"""

from typing import List, Optional

import torch

from allennlp_semfit.modules.implementation import native_arguments, native_kernels

__all__ = ["recurrence_backward", "recurrence_forward"]


def recurrence_forward(
    gates: torch.Tensor,
    peepholes: Optional[torch.Tensor],
    batch_sizes: List[int],
    tanh_candidate: bool,
    highway: bool,
    cell_state: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """As `torch_ops.recurrence_forward`."""
    sizes = torch.tensor(batch_sizes, dtype=torch.int64)
    arguments = native_arguments(gates, gates, peepholes, cell_state, hidden, sizes)
    native_kernels.recurrence_forward(
        *arguments, len(sizes), cell_state.size(1), tanh_candidate, highway
    )


def recurrence_backward(
    grad_hidden: torch.Tensor,
    gates: torch.Tensor,
    peepholes: Optional[torch.Tensor],
    batch_sizes: List[int],
    tanh_candidate: bool,
    highway: bool,
    cell_state: torch.Tensor,
    grad_gates: torch.Tensor,
    grad_peepholes: Optional[torch.Tensor],
) -> None:
    """As `torch_ops.recurrence_backward`."""
    sizes = torch.tensor(batch_sizes, dtype=torch.int64)
    carried = cell_state.new_zeros(batch_sizes[0] if batch_sizes else 0, cell_state.size(1))
    states, gradients = (cell_state, carried), (grad_gates, grad_peepholes)
    arguments = native_arguments(gates, grad_hidden, gates, peepholes, *states, *gradients, sizes)
    native_kernels.recurrence_backward(
        *arguments, len(sizes), cell_state.size(1), tanh_candidate, highway
    )
