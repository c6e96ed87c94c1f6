import math
from typing import Any, List, Optional, Tuple

import torch

from allennlp_semfit.modules.kernels.autograd import apply_eagerly, differentiable_once
from allennlp_semfit.modules.kernels.implementation import select_ops

__all__ = ["ElementwiseRecurrentLayer"]


class ElementwiseRecurrentLayer(torch.nn.Module):
    """
    A unidirectional recurrent layer without a recurrent matrix. The gates of all words are one
    matrix product; only operations on single elements depend on the previous word. The output is
    projected and normalised.

    With `peepholes`, it is an SRU (Lei et al. 2018, "Simple Recurrent Units for Highly
    Parallelizable Recurrence", equations 1 to 7) whose highway connection has a matrix of its own,
    because `cell_size` can differ from `hidden_dim`. Without, and with a window of two words, it is
    a QRNN with fo-pooling (Bradbury et al. 2017, "Quasi-Recurrent Neural Networks", equation 4).

    # Parameters

    hidden_dim : `int`
        The dimension of the input and the output.
    cell_size : `int`
        The number of memory cells.
    window_size : `int`
        The number of words, up to the current one, that the gates depend on directly.
    peepholes : `bool`
        Whether the gates depend on the previous cell state, cell by cell, and the output gate mixes
        the cell state with a linear function of the input, as in an SRU. Otherwise, the candidate
        is a tanh, as in a QRNN.
    layer_norm : `bool`
        Whether to normalise the output.
    implementation : `str`, optional (default = `"auto"`)
        See [`select_ops`](../implementation#select_ops).
    """

    def __init__(
        self,
        hidden_dim: int,
        cell_size: int,
        window_size: int,
        peepholes: bool,
        layer_norm: bool,
        implementation: str = "auto",
    ) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.cell_size = cell_size
        self.window_size = window_size
        self.implementation = implementation
        num_gates = 4 if peepholes else 3
        self.input_linearity = torch.nn.Linear(window_size * hidden_dim, num_gates * cell_size)
        self.peepholes = torch.nn.Parameter(torch.zeros(2, cell_size)) if peepholes else None
        self.state_projection = torch.nn.Linear(cell_size, hidden_dim, bias=False)
        self.layer_norm = torch.nn.LayerNorm(hidden_dim) if layer_norm else torch.nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """
        Uniform weights of variance `1 / fan_in` (Lei et al. 2018, section 3.2) and a forget gate
        bias of 1. The peepholes have no effect at first.
        """
        for linearity in (self.input_linearity, self.state_projection):
            bound = math.sqrt(3 / linearity.in_features)
            torch.nn.init.uniform_(linearity.weight, -bound, bound)
        bias = self.input_linearity.bias.data
        bias.zero_()
        bias[self.cell_size : 2 * self.cell_size] = 1.0
        if self.peepholes is not None:
            torch.nn.init.zeros_(self.peepholes)

    def forward(self, inputs: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
        """
        # Parameters

        inputs : `torch.Tensor`
            Shape `(sum(batch_sizes), hidden_dim)`, in the layout of
            `torch.nn.utils.rnn.PackedSequence.data`.
        batch_sizes : `List[int]`

        # Returns

        `torch.Tensor`
            The states, in the shape and layout of `inputs`.
        """
        window = [inputs]
        while len(window) < self.window_size:
            window.append(_previous_words(window[-1], batch_sizes))
        hidden = _apply(
            self.input_linearity(torch.cat(window, dim=-1) if len(window) > 1 else inputs),
            self.peepholes,
            batch_sizes,
            self.implementation,
        )
        projected = self.state_projection(hidden)
        # Under autocast, a sum of states in half precision would lose digits at every layer.
        return self.layer_norm(projected.to(self.state_projection.weight.dtype))


def _previous_words(words: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
    """The word before each; zeros before the first."""
    if not batch_sizes:
        return words
    steps = words.split(batch_sizes)
    previous = [step[:size] for step, size in zip(steps, batch_sizes[1:])]
    return torch.cat([torch.zeros_like(steps[0]), *previous])


class _ElementwiseRecurrenceFunction(torch.autograd.Function):
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
        ops = select_ops(implementation, gates.device, gates.dtype, torch.float32)
        cell_size = gates.size(1) // (3 if peepholes is None else 4)
        cell_state = gates.new_empty(len(gates), cell_size, dtype=dtype)
        hidden = gates.new_empty(len(gates), cell_size)
        with torch.cuda.device_of(gates), torch.autocast(gates.device.type, enabled=False):
            ops.recurrence_forward(gates, peepholes, batch_sizes, cell_state, hidden)
        ctx.save_for_backward(gates, peepholes, cell_state)
        ctx.ops, ctx.batch_sizes = ops, batch_sizes
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
                ctx.batch_sizes,
                cell_state,
                grad_gates,
                grad_peepholes,
            )
        return grad_gates, grad_peepholes, None, None


_apply = apply_eagerly(_ElementwiseRecurrenceFunction)
