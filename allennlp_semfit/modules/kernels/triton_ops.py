"""
The functions of `torch_ops` as Triton kernels: a step of a projected LSTM launches two matrix
products and two kernels, both in the forward and in the backward pass. The kernels are bound by
memory bandwidth, so `cell_forward` does not write the activations of the gates: `cell_backward`
recomputes them and the cell state, and also sums the gradient of the bias.

All arithmetic is in `float32`, whatever the tensors' types.
"""

from types import SimpleNamespace
from typing import Any, Optional, Sequence

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    # `--include-package` imports this module even where Triton is missing.
    triton = tl = SimpleNamespace(jit=lambda function: function, constexpr=None)

_BLOCK = 1024
_CELL_BLOCK = 512


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _load(pointers, mask):
    return tl.load(pointers, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def _clipped(x, clip_value):
    # `tl.minimum` and `tl.maximum` would replace NaN by a number.
    return tl.where(x < -clip_value, -clip_value, tl.where(x > clip_value, clip_value, x))


@triton.jit
def _activations(gates, bias, cell_size, mask):
    input_gate = tl.sigmoid(_load(gates, mask) + _load(bias, mask))
    forget_gate = tl.sigmoid(_load(gates + cell_size, mask) + _load(bias + cell_size, mask))
    candidate = _tanh(_load(gates + 2 * cell_size, mask) + _load(bias + 2 * cell_size, mask))
    output_gate = tl.sigmoid(_load(gates + 3 * cell_size, mask) + _load(bias + 3 * cell_size, mask))
    return input_gate, forget_gate, candidate, output_gate


@triton.jit
def _cell_forward(
    gates,
    bias,
    previous_cell_state,
    cell_state,
    hidden,
    gates_stride,
    bias_stride,
    previous_stride,
    cell_state_stride,
    hidden_stride,
    size,
    clip_value,
    cell_size: tl.constexpr,
    has_previous: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(1).to(tl.int64)
    cell = tl.program_id(0) * block + tl.arange(0, block)
    mask = cell < size
    # A row of gates has four values for each cell.
    column = cell % cell_size
    gates += layer * gates_stride + cell // cell_size * 4 * cell_size + column
    bias += layer * bias_stride + column
    input_gate, forget_gate, candidate, output_gate = _activations(gates, bias, cell_size, mask)
    new_cell_state = input_gate * candidate
    if has_previous:
        previous = _load(previous_cell_state + layer * previous_stride + cell, mask)
        new_cell_state += forget_gate * _clipped(previous, clip_value)
    output = output_gate * _tanh(_clipped(new_cell_state, clip_value))
    tl.store(cell_state + layer * cell_state_stride + cell, new_cell_state, mask=mask)
    tl.store(hidden + layer * hidden_stride + cell, output, mask=mask)


@triton.jit
def _cell_backward(
    grad_hidden,
    gates,
    bias,
    previous_cell_state,
    grad_cell_state,
    grad_gates,
    hidden,
    bias_sums,
    grad_hidden_stride,
    gates_stride,
    bias_stride,
    previous_stride,
    grad_cell_state_stride,
    grad_gates_stride,
    hidden_stride,
    bias_sums_stride,
    num_rows,
    rows_per_program,
    clip_value,
    cell_size: tl.constexpr,
    has_previous: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(2).to(tl.int64)
    column = tl.program_id(0) * block + tl.arange(0, block)
    is_column = column < cell_size
    bias += layer * bias_stride + column
    bias_sums += layer * bias_sums_stride + tl.program_id(1) * 4 * cell_size + column
    sum_input = _load(bias_sums, is_column)
    sum_forget = _load(bias_sums + cell_size, is_column)
    sum_candidate = _load(bias_sums + 2 * cell_size, is_column)
    sum_output = _load(bias_sums + 3 * cell_size, is_column)
    step = 0
    while step < rows_per_program:
        row = tl.program_id(1) * rows_per_program + step
        # Triton 3.9's interpreter refuses masks like `is_column & (row < num_rows)`.
        mask = column < tl.where(row < num_rows, cell_size, 0)
        cell = row * cell_size + column
        gate = gates + layer * gates_stride + row * 4 * cell_size + column
        input_gate, forget_gate, candidate, output_gate = _activations(gate, bias, cell_size, mask)
        new_cell_state = input_gate * candidate
        grad_forget = tl.zeros_like(new_cell_state)
        if has_previous:
            previous = _load(previous_cell_state + layer * previous_stride + cell, mask)
            previous = _clipped(previous, clip_value)
            new_cell_state += forget_gate * previous
            grad_forget = previous * forget_gate * (1 - forget_gate)
        tanh_cell_state = _tanh(_clipped(new_cell_state, clip_value))
        output = output_gate * tanh_cell_state
        tl.store(hidden + layer * hidden_stride + cell, output, mask=mask)

        grad = _load(grad_hidden + layer * grad_hidden_stride + cell, mask)
        grad_output = grad * output * (1 - output_gate)
        grad = grad * output_gate * (1 - tanh_cell_state * tanh_cell_state)
        grad_cell = grad_cell_state + layer * grad_cell_state_stride + cell
        grad += _load(grad_cell, mask)
        grad = tl.where(tl.abs(new_cell_state) <= clip_value, grad, 0.0)
        grad_input = grad * candidate * input_gate * (1 - input_gate)
        grad_candidate = grad * input_gate * (1 - candidate * candidate)
        grad_forget *= grad
        grad_gate = grad_gates + layer * grad_gates_stride + row * 4 * cell_size + column
        tl.store(grad_gate, grad_input, mask=mask)
        tl.store(grad_gate + cell_size, grad_forget, mask=mask)
        tl.store(grad_gate + 2 * cell_size, grad_candidate, mask=mask)
        tl.store(grad_gate + 3 * cell_size, grad_output, mask=mask)
        tl.store(grad_cell, grad * forget_gate, mask=mask)
        # Where the loads are masked, all gradients are zero.
        sum_input += grad_input
        sum_forget += grad_forget
        sum_candidate += grad_candidate
        sum_output += grad_output
        step += 1
    tl.store(bias_sums, sum_input, mask=is_column)
    tl.store(bias_sums + cell_size, sum_forget, mask=is_column)
    tl.store(bias_sums + 2 * cell_size, sum_candidate, mask=is_column)
    tl.store(bias_sums + 3 * cell_size, sum_output, mask=is_column)


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
    clip_value,
    hidden_dim: tl.constexpr,
    has_norm: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, block)
    mask = column < hidden_dim
    offset = tl.program_id(0) * hidden_dim + column
    values = _load(projected + layer * projected_stride + offset, mask)
    values = _clipped(values, clip_value)
    if has_norm:
        values = tl.where(mask, values - tl.sum(values, axis=0) / hidden_dim, 0.0)
        variance = tl.sum(values * values, axis=0) / hidden_dim
        values = values / tl.sqrt(variance + eps)
        values *= _load(weight + layer * hidden_dim + column, mask)
        values += _load(bias + layer * hidden_dim + column, mask)
    tl.store(state + layer * state_stride + offset, values, mask=mask)
    tl.store(recurrent + layer * recurrent_stride + offset, values, mask=mask)


@triton.jit
def _state_backward(
    grad_state,
    grad_recurrent,
    projected,
    weight,
    grad_projected,
    grad_state_stride,
    grad_recurrent_stride,
    projected_stride,
    grad_projected_stride,
    recurrent_rows,
    eps,
    clip_value,
    hidden_dim: tl.constexpr,
    has_norm: tl.constexpr,
    block: tl.constexpr,
):
    layer = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, block)
    mask = column < hidden_dim
    offset = tl.program_id(0) * hidden_dim + column
    grad_state += layer * grad_state_stride + offset
    grad = _load(grad_state, mask)
    is_recurrent = column < tl.where(tl.program_id(0) < recurrent_rows, hidden_dim, 0)
    grad += _load(grad_recurrent + layer * grad_recurrent_stride + offset, is_recurrent)
    tl.store(grad_state, grad, mask=is_recurrent)
    unclipped = _load(projected + layer * projected_stride + offset, mask)
    if has_norm:
        values = _clipped(unclipped, clip_value)
        values = tl.where(mask, values - tl.sum(values, axis=0) / hidden_dim, 0.0)
        scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / hidden_dim + eps)
        values *= scale
        grad *= _load(weight + layer * hidden_dim + column, mask)
        mean_product = tl.sum(grad * values, axis=0) / hidden_dim
        grad = scale * (grad - tl.sum(grad, axis=0) / hidden_dim - values * mean_product)
    grad = tl.where(tl.abs(unclipped) <= clip_value, grad, 0.0)
    tl.store(grad_projected + layer * grad_projected_stride + offset, grad, mask=mask)


def cell_forward(
    gates: torch.Tensor,
    recurrent_gates: Optional[torch.Tensor],
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: float,
    cell_state: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    """Like `torch_ops.cell_forward`, but the gates keep their pre-activations, without the bias."""
    if recurrent_gates is not None:
        gates += recurrent_gates
    # Triton needs a pointer; the kernel never reads this one.
    previous = cell_state if previous_cell_state is None else previous_cell_state
    tensors = (gates, bias, previous, cell_state, hidden)
    num_layers, num_sentences, cell_size = cell_state.shape
    size = num_sentences * cell_size
    _cell_forward[(triton.cdiv(size, _BLOCK), num_layers)](
        *tensors,
        *(tensor.stride(0) for tensor in tensors),
        size,
        clip_value,
        cell_size=cell_size,
        has_previous=previous_cell_state is not None,
        block=_BLOCK,
    )


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
    """Like `torch_ops.cell_backward`."""
    assert bias_sums is not None
    previous = cell_state if previous_cell_state is None else previous_cell_state
    tensors = (grad_hidden, gates, bias, previous, grad_cell_state, grad_gates, hidden, bias_sums)
    num_layers, num_sentences, cell_size = cell_state.shape
    num_groups = bias_sums.size(1)
    _cell_backward[(triton.cdiv(cell_size, _CELL_BLOCK), num_groups, num_layers)](
        *tensors,
        *(tensor.stride(0) for tensor in tensors),
        num_sentences,
        triton.cdiv(num_sentences, num_groups),
        clip_value,
        cell_size=cell_size,
        has_previous=previous_cell_state is not None,
        block=_CELL_BLOCK,
    )


def new_bias_sums(gates: torch.Tensor, num_sentences: int) -> torch.Tensor:
    """Like `torch_ops.new_bias_sums`."""
    # One row for each program of a block of cells. These numbers are the fastest on an H200.
    num_groups = max(1, min(num_sentences, max(num_sentences // 8, 32), 96))
    return gates.new_zeros(len(gates), num_groups, gates.size(-1), dtype=torch.float32)


def state_forward(
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    bias: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    state: torch.Tensor,
    recurrent: torch.Tensor,
) -> None:
    """Like `torch_ops.state_forward`."""
    tensors = (projected, weight, bias, state, recurrent)
    strided = (projected, state, recurrent)
    _launch_on_rows(_state_forward, tensors, strided, weight, eps, clip_value)


def state_backward(
    grad_state: torch.Tensor,
    grad_recurrent: Optional[torch.Tensor],
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    grad_projected: torch.Tensor,
) -> None:
    """Like `torch_ops.state_backward`."""
    # Triton needs a pointer; the kernel never reads this one.
    recurrent = grad_state if grad_recurrent is None else grad_recurrent
    recurrent_rows = 0 if grad_recurrent is None else grad_recurrent.size(1)
    tensors = (grad_state, recurrent, projected, weight, grad_projected)
    strided = (grad_state, recurrent, projected, grad_projected)
    _launch_on_rows(_state_backward, tensors, strided, weight, eps, clip_value, recurrent_rows)


def _launch_on_rows(
    kernel: Any,
    tensors: Sequence[Optional[torch.Tensor]],
    strided: Sequence[torch.Tensor],
    weight: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    *sizes: int,
) -> None:
    present = [strided[0] if tensor is None else tensor for tensor in tensors]
    num_layers, num_sentences, hidden_dim = strided[0].shape
    kernel[(num_sentences, num_layers)](
        *present,
        *(tensor.stride(0) for tensor in strided),
        *sizes,
        eps,
        clip_value,
        hidden_dim=hidden_dim,
        has_norm=weight is not None,
        block=triton.next_power_of_2(hidden_dim),
    )
