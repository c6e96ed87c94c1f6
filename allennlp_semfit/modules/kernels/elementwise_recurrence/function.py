from importlib import import_module
from typing import Any, List, Optional, Tuple

import torch

from allennlp_semfit.modules.kernels.autograd import apply_eagerly, differentiable_once
from allennlp_semfit.modules.kernels.implementation import choose_implementation

__all__ = ["ElementwiseRecurrenceFunction", "apply_elementwise_recurrence"]


class ElementwiseRecurrenceFunction(torch.autograd.Function):
    """
    The recurrence that `torch_ops` defines. It overwrites `gates`, so these must be the output of a
    function that does not need it for its backward pass, such as a matrix product, and must have no
    other use.

    Raises `ValueError` if `batch_sizes` do not add up to the words or increase.

    The gates may be in half precision; the cell state and the peepholes are in `float32`. The
    output has the type of the gates.
    """

    @staticmethod
    def forward(
        ctx: Any,
        gates: torch.Tensor,
        peepholes: Optional[torch.Tensor],
        batch_sizes: List[int],
        tanh_candidate: bool,
        highway: bool,
        implementation: str,
    ) -> torch.Tensor:
        dtype = torch.promote_types(gates.dtype, torch.float32)
        if sum(batch_sizes) != len(gates) or batch_sizes != sorted(batch_sizes, reverse=True):
            raise ValueError(
                f"`batch_sizes` is {batch_sizes}; for {len(gates)} words, it must add up to "
                f"{len(gates)} and must not increase."
            )
        gates = gates.contiguous()
        if peepholes is not None:
            peepholes = peepholes.to(dtype).contiguous()
        ops = _select_ops(implementation, gates)
        options = (batch_sizes, tanh_candidate, highway)
        cell_size = gates.size(1) // (4 if highway else 3)
        cell_state = gates.new_empty(len(gates), cell_size, dtype=dtype)
        hidden = gates.new_empty(len(gates), cell_size)
        with torch.cuda.device_of(gates), torch.autocast(gates.device.type, enabled=False):
            ops.recurrence_forward(gates, peepholes, *options, cell_state, hidden)
        ctx.save_for_backward(gates, peepholes, cell_state)
        ctx.ops, ctx.options = ops, options
        return hidden

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, grad_hidden: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        gates, peepholes, cell_state = ctx.saved_tensors
        grad_gates = torch.empty_like(gates)
        grad_peepholes = None if peepholes is None else torch.zeros_like(peepholes)
        with torch.cuda.device_of(gates), torch.autocast(gates.device.type, enabled=False):
            ctx.ops.recurrence_backward(
                grad_hidden.contiguous(),
                gates,
                peepholes,
                *ctx.options,
                cell_state,
                grad_gates,
                grad_peepholes,
            )
        return grad_gates, grad_peepholes, None, None, None, None


apply_elementwise_recurrence = apply_eagerly(ElementwiseRecurrenceFunction)


def _select_ops(implementation: str, gates: torch.Tensor) -> Any:
    # The cell state and the peepholes are always converted to `float32`.
    chosen = choose_implementation(implementation, gates.device, gates.dtype, torch.float32)
    # Not at the top, because Triton may be missing.
    return import_module(f"{__package__}.{chosen}_ops")
