"""
The functions of `torch_ops`, each as one CPU kernel of `native_kernels.cpp`, for gates in `float32`
or `bfloat16`. All arithmetic is in `float32`.
"""

from typing import List, Optional

import torch

from allennlp_semfit.modules.kernels.implementation import native_kernels

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
    native_kernels.recurrence_forward(
        gates.dtype == torch.bfloat16,
        len(gates),
        torch.get_num_threads(),
        gates.data_ptr(),
        0 if peepholes is None else peepholes.data_ptr(),
        cell_state.data_ptr(),
        hidden.data_ptr(),
        sizes.data_ptr(),
        len(sizes),
        cell_state.size(1),
        tanh_candidate,
        highway,
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
    native_kernels.recurrence_backward(
        gates.dtype == torch.bfloat16,
        len(gates),
        torch.get_num_threads(),
        grad_hidden.data_ptr(),
        gates.data_ptr(),
        0 if peepholes is None else peepholes.data_ptr(),
        cell_state.data_ptr(),
        carried.data_ptr(),
        grad_gates.data_ptr(),
        0 if grad_peepholes is None else grad_peepholes.data_ptr(),
        sizes.data_ptr(),
        len(sizes),
        cell_state.size(1),
        tanh_candidate,
        highway,
    )
