"""
The recurrence of an SRU or a QRNN, element by element, in PyTorch. For a word, where `c'` is the
cell state of the previous word of the sentence and `(z, f, o, x)` are its gates before activation,

    f = sigmoid(f + v_f c')    o = sigmoid(o + v_o c')    z = tanh(z) if `tanh_candidate`
    c = f c' + (1 - f) z       h = o c + (1 - o) x

Without `peepholes`, `v` is zero; without `highway`, so is `x`. The shapes are

- `(words, 3 * cell_size)` for `gates`, or `(words, 4 * cell_size)` with `highway`;
- `(2, cell_size)` for `peepholes`, `v_f` and `v_o`, or `None`;
- `(words, cell_size)` for `cell_state` and `hidden`.

The words have the layout of `torch.nn.utils.rnn.PackedSequence.data` with `batch_sizes`. A gradient
has the shape of its tensor.
"""

from typing import List, Optional

import torch

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
    """Replaces the gates by their activations, and computes `cell_state` and `hidden`."""
    cell_size = cell_state.size(1)
    if tanh_candidate:
        gates[:, :cell_size].tanh_()
    previous = cell_state.new_zeros(batch_sizes[0] if batch_sizes else 0, cell_size)
    buffers = (gates, cell_state, hidden)
    for gate, cell, output in zip(*(buffer.split(batch_sizes) for buffer in buffers)):
        previous = previous[: len(cell)]
        candidate, forget_gate, output_gate, *skipped = gate.split(cell_size, dim=1)
        if peepholes is not None:
            # In two roundings of a half type, it would differ from the other implementations.
            forget_gate.copy_((forget_gate + peepholes[0] * previous).sigmoid_())
            output_gate.copy_((output_gate + peepholes[1] * previous).sigmoid_())
        else:
            forget_gate.sigmoid_()
            output_gate.sigmoid_()
        torch.add(forget_gate * previous, (1 - forget_gate) * candidate, out=cell)
        torch.mul(output_gate, cell.to(output.dtype), out=output)
        if highway:
            output += (1 - output_gate) * skipped[0]
        previous = cell


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
    """
    Computes `grad_gates`, the gradient of the gates before activation, and `grad_peepholes`, given
    zeros.
    """
    cell_size = cell_state.size(1)
    carried = cell_state.new_zeros(batch_sizes[0] if batch_sizes else 0, cell_size)
    buffers = (grad_hidden, gates, cell_state, grad_gates)
    steps = list(zip(*(buffer.split(batch_sizes) for buffer in buffers)))
    for number in reversed(range(len(steps))):
        grad, gate, cell, grad_gate = steps[number]
        size = len(cell)
        previous = steps[number - 1][2][:size] if number else torch.zeros_like(cell)
        candidate, forget_gate, output_gate, *skipped = gate.split(cell_size, dim=1)
        grad_candidate, grad_forget, grad_output, *grad_skipped = grad_gate.split(cell_size, dim=1)
        difference = cell
        if highway:
            difference = cell - skipped[0]
            grad_skipped[0].copy_(grad * (1 - output_gate))
        of_output = grad * difference * output_gate * (1 - output_gate)
        grad_cell = carried[:size] + grad * output_gate
        of_forget = grad_cell * (previous - candidate) * forget_gate * (1 - forget_gate)
        of_candidate = grad_cell * (1 - forget_gate)
        if tanh_candidate:
            of_candidate = of_candidate * (1 - candidate * candidate)
        grad_candidate.copy_(of_candidate)
        grad_forget.copy_(of_forget)
        grad_output.copy_(of_output)
        carried[:size] = grad_cell * forget_gate
        if peepholes is not None and grad_peepholes is not None:
            carried[:size] += of_forget * peepholes[0] + of_output * peepholes[1]
            grad_peepholes[0] += (of_forget * previous).sum(0)
            grad_peepholes[1] += (of_output * previous).sum(0)
