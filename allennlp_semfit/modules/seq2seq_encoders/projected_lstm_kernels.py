"""
The functions of `projected_lstm_steps`, each as one Triton kernel: at every step a GPU then has two
matrix products and two kernels to run forwards, and two and three backwards.

All arithmetic is in single precision, whatever the tensors' types.
"""

from typing import Any, Optional, Sequence

import torch
import triton
import triton.language as tl

__all__ = ["cell_backward", "cell_forward", "state_backward", "state_forward"]

_BLOCK = 1024


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _load(start, stride, layer, offsets, mask):
    return tl.load(start + layer * stride + offsets, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def _clipped(x, bound, has_bound: tl.constexpr):
    if has_bound:
        return tl.minimum(tl.maximum(x, -bound), bound)
    return x


@triton.jit
def _cell_forward(
    gates,
    previous_memory,
    memory,
    hidden,
    gates_stride,
    previous_stride,
    memory_stride,
    hidden_stride,
    size,
    bound,
    cell_size: tl.constexpr,
    has_previous: tl.constexpr,
    has_bound: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(1).to(tl.int64)
    cell = tl.program_id(0) * block + tl.arange(0, block)
    mask = cell < size
    # A row of gates holds four times the cells.
    at = cell // cell_size * 4 * cell_size + cell % cell_size
    input_gate = tl.sigmoid(_load(gates, gates_stride, layer, at, mask))
    forget_gate = tl.sigmoid(_load(gates, gates_stride, layer, at + cell_size, mask))
    candidate = _tanh(_load(gates, gates_stride, layer, at + 2 * cell_size, mask))
    output_gate = tl.sigmoid(_load(gates, gates_stride, layer, at + 3 * cell_size, mask))
    remembered = input_gate * candidate
    if has_previous:
        before = _load(previous_memory, previous_stride, layer, cell, mask)
        remembered += forget_gate * _clipped(before, bound, has_bound)
    output = output_gate * _tanh(_clipped(remembered, bound, has_bound))
    gates += layer * gates_stride
    tl.store(gates + at, input_gate, mask=mask)
    tl.store(gates + at + cell_size, forget_gate, mask=mask)
    tl.store(gates + at + 2 * cell_size, candidate, mask=mask)
    tl.store(gates + at + 3 * cell_size, output_gate, mask=mask)
    tl.store(memory + layer * memory_stride + cell, remembered, mask=mask)
    tl.store(hidden + layer * hidden_stride + cell, output, mask=mask)


@triton.jit
def _cell_backward(
    grad_hidden,
    gates,
    previous_memory,
    memory,
    grad_memory,
    grad_gates,
    hidden,
    grad_hidden_stride,
    gates_stride,
    previous_stride,
    memory_stride,
    grad_memory_stride,
    grad_gates_stride,
    hidden_stride,
    size,
    bound,
    cell_size: tl.constexpr,
    has_previous: tl.constexpr,
    has_bound: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(1).to(tl.int64)
    cell = tl.program_id(0) * block + tl.arange(0, block)
    mask = cell < size
    at = cell // cell_size * 4 * cell_size + cell % cell_size
    input_gate = _load(gates, gates_stride, layer, at, mask)
    forget_gate = _load(gates, gates_stride, layer, at + cell_size, mask)
    candidate = _load(gates, gates_stride, layer, at + 2 * cell_size, mask)
    output_gate = _load(gates, gates_stride, layer, at + 3 * cell_size, mask)
    remembered = _load(memory, memory_stride, layer, cell, mask)
    squashed = _tanh(_clipped(remembered, bound, has_bound))
    tl.store(hidden + layer * hidden_stride + cell, output_gate * squashed, mask=mask)

    grad = _load(grad_hidden, grad_hidden_stride, layer, cell, mask)
    grad_output = grad * squashed * output_gate * (1 - output_gate)
    grad = grad * output_gate * (1 - squashed * squashed)
    grad += _load(grad_memory, grad_memory_stride, layer, cell, mask)
    if has_bound:
        grad = tl.where(tl.abs(remembered) <= bound, grad, 0.0)
    grad_input = grad * candidate * input_gate * (1 - input_gate)
    grad_candidate = grad * input_gate * (1 - candidate * candidate)
    grad_forget = tl.zeros_like(grad)
    if has_previous:
        before = _load(previous_memory, previous_stride, layer, cell, mask)
        before = _clipped(before, bound, has_bound)
        grad_forget = grad * before * forget_gate * (1 - forget_gate)
    grad_gates += layer * grad_gates_stride
    tl.store(grad_gates + at, grad_input, mask=mask)
    tl.store(grad_gates + at + cell_size, grad_forget, mask=mask)
    tl.store(grad_gates + at + 2 * cell_size, grad_candidate, mask=mask)
    tl.store(grad_gates + at + 3 * cell_size, grad_output, mask=mask)
    tl.store(grad_memory + layer * grad_memory_stride + cell, grad * forget_gate, mask=mask)


@triton.jit
def _state_forward(
    projected,
    weight,
    bias,
    state,
    recurrent,
    projected_stride,
    state_stride,
    recurrent_stride,
    eps,
    bound,
    hidden_dim: tl.constexpr,
    has_norm: tl.constexpr,
    has_bound: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, block)
    mask = column < hidden_dim
    at = tl.program_id(0) * hidden_dim + column
    values = _load(projected, projected_stride, layer, at, mask)
    values = _clipped(values, bound, has_bound)
    if has_norm:
        values = tl.where(mask, values - tl.sum(values, axis=0) / hidden_dim, 0.0)
        variance = tl.sum(values * values, axis=0) / hidden_dim
        values = values / tl.sqrt(variance + eps)
        values *= _load(weight, hidden_dim, layer, column, mask)
        values += _load(bias, hidden_dim, layer, column, mask)
    tl.store(state + layer * state_stride + at, values, mask=mask)
    tl.store(recurrent + layer * recurrent_stride + at, values, mask=mask)


@triton.jit
def _state_backward(
    grad_state,
    projected,
    weight,
    grad_projected,
    grad_state_stride,
    projected_stride,
    grad_projected_stride,
    eps,
    bound,
    hidden_dim: tl.constexpr,
    has_norm: tl.constexpr,
    has_bound: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, block)
    mask = column < hidden_dim
    at = tl.program_id(0) * hidden_dim + column
    grad = _load(grad_state, grad_state_stride, layer, at, mask)
    raw = _load(projected, projected_stride, layer, at, mask)
    if has_norm:
        values = _clipped(raw, bound, has_bound)
        values = tl.where(mask, values - tl.sum(values, axis=0) / hidden_dim, 0.0)
        scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / hidden_dim + eps)
        values *= scale
        grad *= _load(weight, hidden_dim, layer, column, mask)
        along = tl.sum(grad * values, axis=0) / hidden_dim
        grad = scale * (grad - tl.sum(grad, axis=0) / hidden_dim - values * along)
    if has_bound:
        grad = tl.where(tl.abs(raw) <= bound, grad, 0.0)
    tl.store(grad_projected + layer * grad_projected_stride + at, grad, mask=mask)


def cell_forward(
    gates: torch.Tensor,
    previous_memory: Optional[torch.Tensor],
    bound: Optional[float],
    memory: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """As `projected_lstm_steps.cell_forward`."""
    tensors = (gates, previous_memory, memory, hidden)
    _launch_on_cells(_cell_forward, tensors, memory, previous_memory, bound)


def cell_backward(
    grad_hidden: torch.Tensor,
    gates: torch.Tensor,
    previous_memory: Optional[torch.Tensor],
    bound: Optional[float],
    memory: torch.Tensor,
    grad_memory: torch.Tensor,
    grad_gates: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """As `projected_lstm_steps.cell_backward`."""
    tensors = (grad_hidden, gates, previous_memory, memory, grad_memory, grad_gates, hidden)
    _launch_on_cells(_cell_backward, tensors, memory, previous_memory, bound)


def state_forward(
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    bias: Optional[torch.Tensor],
    eps: Optional[float],
    bound: Optional[float],
    state: torch.Tensor,
    recurrent: torch.Tensor,
) -> None:
    """As `projected_lstm_steps.state_forward`."""
    tensors = (projected, weight, bias, state, recurrent)
    _launch_on_rows(_state_forward, tensors, (projected, state, recurrent), eps, bound)


def state_backward(
    grad_state: torch.Tensor,
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: Optional[float],
    bound: Optional[float],
    grad_projected: torch.Tensor,
) -> None:
    """As `projected_lstm_steps.state_backward`."""
    tensors = (grad_state, projected, weight, grad_projected)
    _launch_on_rows(_state_backward, tensors, (grad_state, projected, grad_projected), eps, bound)


def _launch_on_cells(
    kernel: Any,
    tensors: Sequence[Optional[torch.Tensor]],
    memory: torch.Tensor,
    previous_memory: Optional[torch.Tensor],
    bound: Optional[float],
) -> None:
    # What is `None` is not looked at.
    present = [memory if tensor is None else tensor for tensor in tensors]
    num_layers, num_sentences, cell_size = memory.shape
    size = num_sentences * cell_size
    kernel[(triton.cdiv(size, _BLOCK), num_layers)](
        *present,
        *(tensor.stride(0) for tensor in present),
        size,
        bound or 0.0,
        cell_size=cell_size,
        has_previous=previous_memory is not None,
        has_bound=bound is not None,
        block=_BLOCK,
    )


def _launch_on_rows(
    kernel: Any,
    tensors: Sequence[Optional[torch.Tensor]],
    strided: Sequence[torch.Tensor],
    eps: Optional[float],
    bound: Optional[float],
) -> None:
    present = [strided[0] if tensor is None else tensor for tensor in tensors]
    num_layers, num_sentences, hidden_dim = strided[0].shape
    kernel[(num_sentences, num_layers)](
        *present,
        *(tensor.stride(0) for tensor in strided),
        eps or 0.0,
        bound or 0.0,
        hidden_dim=hidden_dim,
        has_norm=eps is not None,
        has_bound=bound is not None,
        block=triton.next_power_of_2(hidden_dim),
    )
