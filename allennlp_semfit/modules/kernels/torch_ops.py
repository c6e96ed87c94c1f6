"""
The operations of a projected LSTM between matrix products, in PyTorch.

The tensors are views of buffers for all steps. `layers` is the number of layers that run in
parallel; this dimension may be missing. `n` is the number of sentences that have a word at this
step. The shapes are

- `(layers, n, 4 * cell_size)` for `gates` (input, forget, candidate, output) and
  `recurrent_gates`, the contribution of the previous state (`None` if it has been added, or at the
  first step), and `(layers, 1, 4 * cell_size)` for their `bias`;
- `(layers, n, cell_size)` for `cell_state` (before clipping), `previous_cell_state` (`None` at the
  first step) and `hidden` (the output before projection);
- `(layers, n, hidden_dim)` for `projected`, `state` and `recurrent`;
- `(layers, 1, hidden_dim)` for `weight` and `bias` of the layer norm (`None` without one).

Without clipping, `clip_value` is infinite.

A gradient has the shape of its tensor.
"""

from math import inf
from typing import Optional, Tuple

import torch
from torch.nn.functional import layer_norm

aten = torch.ops.aten
_SIGMOID_BACKWARD = aten.sigmoid_backward.grad_input
_TANH_BACKWARD = aten.tanh_backward.grad_input


def _clip(tensor: torch.Tensor, clip_value: float) -> torch.Tensor:
    return tensor if clip_value == inf else tensor.clamp(-clip_value, clip_value)


def cell_forward(
    gates: torch.Tensor,
    recurrent_gates: Optional[torch.Tensor],
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: float,
    cell_state: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """
    Adds `recurrent_gates` and the bias to the gates' pre-activations, replaces them by the
    activations, and computes `cell_state` and `hidden`. Only `cell_backward` of the same module can
    read the resulting `gates`.
    """
    cell_size = cell_state.size(-1)
    gates += bias if recurrent_gates is None else recurrent_gates + bias
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
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: float,
    cell_state: torch.Tensor,
    grad_cell_state: torch.Tensor,
    grad_gates: torch.Tensor,
    hidden: torch.Tensor,
    bias_sums: Optional[torch.Tensor],
) -> None:
    """
    The backward pass of `cell_forward`. Computes `grad_gates`, the gradient of the pre-activations,
    and recomputes `hidden`. `grad_cell_state` is the next step's gradient of this step's clipped
    cell state; it is replaced by this step's gradient of the previous cell state. `bias_sums` is
    the result of `new_bias_sums` for all steps.
    """
    input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
    grad_input, grad_forget, grad_candidate, grad_output = grad_gates.chunk(4, dim=-1)
    tanh_cell_state = (
        cell_state.tanh() if clip_value == inf else _clip(cell_state, clip_value).tanh_()
    )
    torch.mul(output_gate, tanh_cell_state.to(hidden.dtype), out=hidden)
    _SIGMOID_BACKWARD(grad_hidden * tanh_cell_state, output_gate, grad_input=grad_output)
    grad_cell_state += aten.tanh_backward(grad_hidden * output_gate, tanh_cell_state)
    if clip_value != inf:
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


def new_bias_sums(gates: torch.Tensor, num_sentences: int) -> Optional[torch.Tensor]:
    """
    Returns a tensor of zeros to which `cell_backward` adds the rows of `grad_gates`, so that fewer
    rows are left to add; or `None`. `gates` are those of all steps, and `num_sentences` is the
    number of sentences at the first step.
    """
    return None


def state_forward(
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    bias: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    state: torch.Tensor,
    recurrent: torch.Tensor,
) -> None:
    """
    Computes `state`: clips and normalizes the projected output. `recurrent` is `state` itself, or a
    tensor of another type that receives a copy.
    """
    clipped = _clip(projected, clip_value)
    if weight is None or bias is None:
        state.copy_(clipped)
    else:
        normalized = layer_norm(clipped.to(state.dtype), clipped.shape[-1:], eps=eps)
        torch.addcmul(bias, normalized, weight, out=state)
    if recurrent.dtype != state.dtype:
        recurrent.copy_(state)


def state_backward(
    grad_state: torch.Tensor,
    grad_recurrent: Optional[torch.Tensor],
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    grad_projected: torch.Tensor,
) -> None:
    """
    The backward pass of `state_forward`, except for the layer norm's parameters. First adds
    `grad_recurrent`, the gradient from the next step, to `grad_state`. `grad_recurrent` contains
    only the sentences of the next step, and is `None` at the last step.
    """
    if grad_recurrent is not None:
        grad_state[..., : grad_recurrent.size(-2), :] += grad_recurrent
    if weight is not None:
        clipped = _clip(projected, clip_value).to(grad_state.dtype)
        shape = list(clipped.shape[-1:])
        _, mean, rstd = torch.native_layer_norm(clipped, shape, None, None, eps)
        grad_state, _, _ = aten.native_layer_norm_backward(
            grad_state * weight, clipped, shape, mean, rstd, None, None, [True, False, False]
        )
    if clip_value == inf:
        grad_projected.copy_(grad_state)
    else:
        torch.mul(
            grad_state.to(grad_projected.dtype), projected.abs() <= clip_value, out=grad_projected
        )


def norm_backward(
    grad_state: torch.Tensor,
    projected: torch.Tensor,
    eps: float,
    clip_value: float,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The gradients of the layer norm's weights and biases, shape `(layers, hidden_dim)`, for all
    steps at once.
    """
    clipped = _clip(projected, clip_value).to(grad_state.dtype)
    normalized = layer_norm(clipped, clipped.shape[-1:], eps=eps)
    return (grad_state * normalized).sum(-2), grad_state.sum(-2)
