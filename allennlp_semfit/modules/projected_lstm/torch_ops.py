"""
What a projected LSTM does at each step between its matrix products, in PyTorch's own operations.

All of it reads and writes views of buffers that hold every step. In the shapes, `layers` are those
that read side by side, and `n` the sentences that have a word at this step.
"""

from typing import Any, Optional, Tuple

import torch
from torch.nn.functional import layer_norm

__all__ = ["cell_backward", "cell_forward", "norm_backward", "state_backward", "state_forward"]

aten = torch.ops.aten
_SIGMOID_BACKWARD = aten.sigmoid_backward.grad_input
_TANH_BACKWARD = aten.tanh_backward.grad_input


def _clip(tensor: torch.Tensor, clip_value: Optional[float]) -> torch.Tensor:
    return tensor if clip_value is None else tensor.clamp(-clip_value, clip_value)


def cell_forward(
    gates: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: Optional[float],
    cell_state: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """
    The state and the output of the cells.

    # Parameters

    gates : `torch.Tensor`
        Shape `(layers, n, 4 * cell_size)`: what goes into the input, forget, candidate and output
        gates; replaced by what comes out of them.
    previous_cell_state : `torch.Tensor`
        Shape `(layers, n, cell_size)`: `cell_state` of the step before; `None` at the first.
    clip_value : `Optional[float]`
        The cell state's clip value.
    cell_state : `torch.Tensor`
        Shape `(layers, n, cell_size)`; receives the cell state before it is clipped.
    hidden : `torch.Tensor`
        Shape `(layers, n, cell_size)`; is given the output before it is projected.
    """
    cell_size = cell_state.size(-1)
    gates[..., : 2 * cell_size].sigmoid_()
    gates[..., 2 * cell_size : 3 * cell_size].tanh_()
    gates[..., 3 * cell_size :].sigmoid_()
    input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
    torch.mul(input_gate, candidate, out=cell_state)
    if previous_cell_state is not None:
        cell_state.addcmul_(forget_gate, _clip(previous_cell_state, clip_value))
    torch.mul(output_gate, _clip(cell_state, clip_value).tanh().to(hidden.dtype), out=hidden)


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
    """
    The gradient of `cell_forward`.

    # Parameters

    grad_hidden : `torch.Tensor`
        Shape `(layers, n, cell_size)`.
    gates : `torch.Tensor`
        Shape `(layers, n, 4 * cell_size)`: what came out of the gates.
    previous_cell_state, clip_value, cell_state
        As in `cell_forward`.
    grad_cell_state : `torch.Tensor`
        Shape `(layers, n, cell_size)`: what the next step says of this step's clipped cell state;
        replaced by what this step says of the one before.
    grad_gates : `torch.Tensor`
        Shape `(layers, n, 4 * cell_size)`; is given the gradient of what goes into the gates.
    hidden : `torch.Tensor`
        Shape `(layers, n, cell_size)`; is given the output before it is projected, once more.
    """
    input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
    grad_input, grad_forget, grad_candidate, grad_output = grad_gates.chunk(4, dim=-1)
    squashed = (
        _clip(cell_state, clip_value).tanh_() if clip_value is not None else cell_state.tanh()
    )
    torch.mul(output_gate, squashed.to(hidden.dtype), out=hidden)
    _SIGMOID_BACKWARD(grad_hidden * squashed, output_gate, grad_input=grad_output)
    grad_cell_state += aten.tanh_backward(grad_hidden * output_gate, squashed)
    if clip_value is not None:
        grad_cell_state *= cell_state.abs() <= clip_value
    _SIGMOID_BACKWARD(grad_cell_state * candidate, input_gate, grad_input=grad_input)
    _TANH_BACKWARD(grad_cell_state * input_gate, candidate, grad_input=grad_candidate)
    if previous_cell_state is None:
        grad_forget.zero_()
    else:
        _SIGMOID_BACKWARD(
            grad_cell_state * _clip(previous_cell_state, clip_value),
            forget_gate,
            grad_input=grad_forget,
        )
    grad_cell_state *= forget_gate


def state_forward(
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    bias: Optional[torch.Tensor],
    eps: float,
    clip_value: Optional[float],
    state: torch.Tensor,
    recurrent: torch.Tensor,
) -> None:
    """
    The state: the projected output, clipped and normalised.

    # Parameters

    projected : `torch.Tensor`
        Shape `(layers, n, hidden_dim)`.
    weight, bias : `torch.Tensor`
        The layer norm's, shape `(layers, 1, hidden_dim)`; `None` for no layer norm.
    eps : `float`
    clip_value : `Optional[float]`
        The state's clip value.
    state : `torch.Tensor`
        Shape `(layers, n, hidden_dim)`; is given the state.
    recurrent : `torch.Tensor`
        `state` itself, or a tensor of its shape and another type, which is given the same.
    """
    clipped = _clip(projected, clip_value)
    if weight is None or bias is None:
        state.copy_(clipped)
    else:
        normalised = layer_norm(clipped.to(state.dtype), clipped.shape[-1:], eps=eps)
        torch.addcmul(bias, normalised, weight, out=state)
    if recurrent.dtype != state.dtype:
        recurrent.copy_(state)


def state_backward(
    grad_state: torch.Tensor,
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: float,
    clip_value: Optional[float],
    grad_projected: torch.Tensor,
) -> None:
    """
    The gradient of `state_forward`, but for that of the layer norm's parameters.

    # Parameters

    grad_state : `torch.Tensor`
        Shape `(layers, n, hidden_dim)`.
    projected, weight, eps, clip_value
        As in `state_forward`.
    grad_projected : `torch.Tensor`
        Shape `(layers, n, hidden_dim)`; is given the gradient.
    """
    if weight is not None:
        clipped = _clip(projected, clip_value).to(grad_state.dtype)
        shape = list(clipped.shape[-1:])
        _, mean, rstd = torch.native_layer_norm(clipped, shape, None, None, eps)
        grad_state, _, _ = aten.native_layer_norm_backward(
            grad_state * weight, clipped, shape, mean, rstd, None, None, [True, False, False]
        )
    if clip_value is None:
        grad_projected.copy_(grad_state)
    else:
        torch.mul(
            grad_state.to(grad_projected.dtype), projected.abs() <= clip_value, out=grad_projected
        )


def norm_backward(
    grad_state: torch.Tensor,
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: float,
    clip_value: Optional[float],
) -> Tuple[Any, Any]:
    """
    The gradient of the layer norm's parameters, for all steps at once.

    # Parameters

    grad_state, projected : `torch.Tensor`
        Shape `(layers, words, hidden_dim)`.
    weight, eps, clip_value
        As in `state_forward`.

    # Returns

    `Tuple[Any, Any]`
        For the weight and the bias, shape `(layers, hidden_dim)`; for each layer `None` where there
        is none.
    """
    if weight is None:
        nothing = [None] * len(projected)
        return nothing, nothing
    clipped = _clip(projected, clip_value).to(grad_state.dtype)
    normalised = layer_norm(clipped, clipped.shape[-1:], eps=eps)
    return (grad_state * normalised).sum(1), grad_state.sum(1)
