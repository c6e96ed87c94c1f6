"""
The functions of `torch_ops`, each as one Triton kernel that loops over the steps: a program for
each sentence and block of cells. All arithmetic is in `float32`, and all sentences must have the
same length.
"""

from typing import Any, List, Optional

import torch

from allennlp_semfit.modules.kernels.optional_triton import tl, triton

__all__ = ["recurrence_backward", "recurrence_forward"]

_BLOCK = 256


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _load(pointers, mask):
    return tl.load(pointers, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def _recurrence_forward(
    gates,
    peepholes,
    cell_state,
    hidden,
    num_steps,
    num_sentences,
    cell_size,
    has_peepholes: tl.constexpr,
    tanh_candidate: tl.constexpr,
    highway: tl.constexpr,
    block: tl.constexpr,
):
    sentence = tl.program_id(1).to(tl.int64)
    cell = tl.program_id(0) * block + tl.arange(0, block)
    mask = cell < cell_size
    width = (4 if highway else 3) * cell_size
    state = tl.zeros([block], tl.float32)
    if has_peepholes:
        forget_peephole = _load(peepholes + cell, mask)
        output_peephole = _load(peepholes + cell_size + cell, mask)
    # Not `range`, which Triton's interpreter cannot run with NumPy 2.4.
    step = 0
    while step < num_steps:
        row = step * num_sentences + sentence
        gate = gates + row * width + cell
        candidate = _load(gate, mask)
        forget_gate = _load(gate + cell_size, mask)
        output_gate = _load(gate + 2 * cell_size, mask)
        if has_peepholes:
            forget_gate += forget_peephole * state
            output_gate += output_peephole * state
        if tanh_candidate:
            candidate = _tanh(candidate)
            tl.store(gate, candidate, mask=mask)
        forget_gate = tl.sigmoid(forget_gate)
        output_gate = tl.sigmoid(output_gate)
        state = forget_gate * state + (1 - forget_gate) * candidate
        output = output_gate * state
        if highway:
            skipped = _load(gate + 3 * cell_size, mask)
            output += (1 - output_gate) * skipped
        tl.store(gate + cell_size, forget_gate, mask=mask)
        tl.store(gate + 2 * cell_size, output_gate, mask=mask)
        tl.store(cell_state + row * cell_size + cell, state, mask=mask)
        tl.store(hidden + row * cell_size + cell, output, mask=mask)
        step += 1


@triton.jit
def _recurrence_backward(
    grad_hidden,
    gates,
    peepholes,
    cell_state,
    grad_gates,
    grad_peepholes,
    num_steps,
    num_sentences,
    cell_size,
    has_peepholes: tl.constexpr,
    tanh_candidate: tl.constexpr,
    highway: tl.constexpr,
    block: tl.constexpr,
):
    sentence = tl.program_id(1).to(tl.int64)
    cell = tl.program_id(0) * block + tl.arange(0, block)
    mask = cell < cell_size
    width = (4 if highway else 3) * cell_size
    carried = tl.zeros([block], tl.float32)
    if has_peepholes:
        forget_peephole = _load(peepholes + cell, mask)
        output_peephole = _load(peepholes + cell_size + cell, mask)
        grad_forget_peephole = tl.zeros([block], tl.float32)
        grad_output_peephole = tl.zeros([block], tl.float32)
    step = num_steps - 1
    while step >= 0:
        row = step * num_sentences + sentence
        gate = gates + row * width + cell
        grad_gate = grad_gates + row * width + cell
        candidate = _load(gate, mask)
        forget_gate = _load(gate + cell_size, mask)
        output_gate = _load(gate + 2 * cell_size, mask)
        state = _load(cell_state + row * cell_size + cell, mask)
        # The first step has no previous one.
        before = _load(cell_state + (row - num_sentences) * cell_size + cell, mask & (step > 0))
        grad = _load(grad_hidden + row * cell_size + cell, mask)
        difference = state
        if highway:
            difference -= _load(gate + 3 * cell_size, mask)
            tl.store(grad_gate + 3 * cell_size, grad * (1 - output_gate), mask=mask)
        grad_output = grad * difference * output_gate * (1 - output_gate)
        grad_state = carried + grad * output_gate
        grad_forget = grad_state * (before - candidate) * forget_gate * (1 - forget_gate)
        grad_candidate = grad_state * (1 - forget_gate)
        if tanh_candidate:
            grad_candidate *= 1 - candidate * candidate
        tl.store(grad_gate, grad_candidate, mask=mask)
        tl.store(grad_gate + cell_size, grad_forget, mask=mask)
        tl.store(grad_gate + 2 * cell_size, grad_output, mask=mask)
        carried = grad_state * forget_gate
        if has_peepholes:
            carried += grad_forget * forget_peephole + grad_output * output_peephole
            grad_forget_peephole += grad_forget * before
            grad_output_peephole += grad_output * before
        step -= 1
    if has_peepholes:
        start = grad_peepholes + sentence * 2 * cell_size + cell
        tl.store(start, grad_forget_peephole, mask=mask)
        tl.store(start + cell_size, grad_output_peephole, mask=mask)


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
    # Any tensor can replace `None`: the kernel does not read it.
    tensors = (gates, cell_state if peepholes is None else peepholes, cell_state, hidden)
    flags = (peepholes is not None, tanh_candidate, highway)
    _launch(_recurrence_forward, tensors, cell_state, batch_sizes, flags)


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
    by_sentence = cell_state
    if grad_peepholes is not None and batch_sizes:
        by_sentence = cell_state.new_empty(batch_sizes[0], *grad_peepholes.shape)
    tensors = (
        grad_hidden,
        gates,
        cell_state if peepholes is None else peepholes,
        cell_state,
        grad_gates,
        by_sentence,
    )
    flags = (peepholes is not None, tanh_candidate, highway)
    _launch(_recurrence_backward, tensors, cell_state, batch_sizes, flags)
    if grad_peepholes is not None and batch_sizes:
        grad_peepholes += by_sentence.sum(0)


def _launch(
    kernel: Any, tensors: Any, cell_state: torch.Tensor, batch_sizes: List[int], flags: Any
) -> None:
    if not batch_sizes or not batch_sizes[0]:
        return
    assert len(set(batch_sizes)) == 1
    cell_size = cell_state.size(1)
    kernel[(triton.cdiv(cell_size, _BLOCK), batch_sizes[0])](
        *tensors, len(batch_sizes), batch_sizes[0], cell_size, *flags, block=_BLOCK
    )
