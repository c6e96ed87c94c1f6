import logging
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch.autograd.function import once_differentiable

from allennlp_semfit.modules.projected_lstm import torch_ops

__all__ = ["ProjectedLstmFunction"]

logger = logging.getLogger(__name__)

# One matrix for each layer: a stacked tensor or a list.
Matrices = Union[torch.Tensor, List[torch.Tensor]]


class ProjectedLstmFunction(torch.autograd.Function):
    """
    The forward and backward pass of [`ProjectedLstm`](../layer#projectedlstm), for several layers
    in parallel. The matrix products that do not depend on the previous state, including those of
    the weight gradients, are computed for all steps at once. The operations between the others are
    fused and work in place.

    For the backward pass, it saves the gate activations, and the cell state and projected output
    before clipping; everything else is recomputed. Under `torch.autocast`, the matrix products use
    autocast's type; the cell state, the states and the layer norm use `float32`.

    The inputs and the states, shape `(layers, words, hidden_dim)`, have the layout that
    `run_in_lockstep` describes. The weights are the input weights of all layers, then the state
    weights of all layers, both of shape `(4 * cell_size, hidden_dim)`; the biases, shape
    `(4 * cell_size,)`; the projections, shape `(hidden_dim, cell_size)`; and the layer norms'
    weights and biases, shape `(hidden_dim,)`, or `None`. Without a layer norm, `eps` is `None`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        batch_sizes: List[int],
        cell_clip_value: Optional[float],
        state_clip_value: Optional[float],
        eps: Optional[float],
        *weights: Optional[torch.Tensor],
    ) -> torch.Tensor:
        dtype = _matmul_dtype(inputs)
        inputs = inputs.to(dtype)
        ops, slices = _select_ops(inputs), _step_slices(batch_sizes)
        with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
            layers = _Layers.from_weights(weights, len(inputs), dtype)
            num_layers, num_words, hidden_dim = inputs.shape
            cell_size = layers.projection[0].size(1)
            gates = inputs.new_empty(num_layers, num_words, 4 * cell_size)
            _affine(inputs, _transposed(layers.input_weight), layers.bias, out=gates)
            cell_state = inputs.new_empty(
                num_layers, num_words, cell_size, dtype=torch.promote_types(dtype, torch.float32)
            )
            projected = torch.empty_like(inputs)
            states = torch.empty_like(inputs, dtype=layers.bias[0].dtype)
            # The states in the type of the matrix products.
            recurrent = states if states.dtype == dtype else torch.empty_like(inputs)
            to_gates, to_state = _transposed(layers.state_weight), _transposed(layers.projection)
            for rows, previous_rows in slices:
                if previous_rows is not None:
                    _add_matmul(recurrent[:, previous_rows], to_gates, out=gates[:, rows])
                hidden = inputs.new_empty(num_layers, rows.stop - rows.start, cell_size)
                ops.cell_forward(
                    gates[:, rows],
                    None if previous_rows is None else cell_state[:, previous_rows],
                    cell_clip_value,
                    cell_state[:, rows],
                    hidden,
                )
                _matmul(hidden, to_state, out=projected[:, rows])
                ops.state_forward(
                    projected[:, rows],
                    layers.norm_weight,
                    layers.norm_bias,
                    eps,
                    state_clip_value,
                    states[:, rows],
                    recurrent[:, rows],
                )
        ctx.save_for_backward(inputs, gates, cell_state, projected, recurrent, *weights)
        ctx.slices, ctx.clip_values, ctx.eps = slices, (cell_clip_value, state_clip_value), eps
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        inputs, gates, cell_state, projected, recurrent, *weights = ctx.saved_tensors
        slices, (cell_clip_value, state_clip_value), eps = ctx.slices, ctx.clip_values, ctx.eps
        ops = _select_ops(inputs)
        with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
            layers = _Layers.from_weights(weights, len(inputs), inputs.dtype)
            # The loop adds to it the gradients from the next step.
            grad_states = grad_outputs.clone(memory_format=torch.contiguous_format)
            grad_gates = torch.empty_like(gates)
            grad_projected = torch.empty_like(projected)
            hidden = torch.empty_like(cell_state, dtype=inputs.dtype)
            first = slices[0][0].stop if slices else 0
            grad_cell_state = cell_state.new_zeros(len(inputs), first, cell_state.size(2))
            for rows, previous_rows in reversed(slices):
                size = rows.stop - rows.start
                ops.state_backward(
                    grad_states[:, rows],
                    projected[:, rows],
                    layers.norm_weight,
                    eps,
                    state_clip_value,
                    grad_projected[:, rows],
                )
                ops.cell_backward(
                    _matmul(grad_projected[:, rows], layers.projection),
                    gates[:, rows],
                    None if previous_rows is None else cell_state[:, previous_rows],
                    cell_clip_value,
                    cell_state[:, rows],
                    grad_cell_state[:, :size],
                    grad_gates[:, rows],
                    hidden[:, rows],
                )
                if previous_rows is not None:
                    _add_matmul(
                        grad_gates[:, rows], layers.state_weight, out=grad_states[:, previous_rows]
                    )
            grad_inputs = None
            if ctx.needs_input_grad[0]:
                grad_inputs = _matmul(grad_gates, layers.input_weight)
            grad_weights: List[Optional[torch.Tensor]] = [None] * len(weights)
            if any(ctx.needs_input_grad[-len(weights) :]):
                previous = [recurrent[:, previous_rows] for _, previous_rows in slices[1:]]
                grads_by_weight = [
                    _grad_weight(grad_gates, inputs),
                    _grad_weight(
                        grad_gates[:, first:], torch.cat([recurrent[:, :0], *previous], dim=1)
                    ),
                    grad_gates.sum(1, dtype=grad_states.dtype),
                    _grad_weight(grad_projected, hidden),
                    *torch_ops.norm_backward(
                        grad_states, projected, layers.norm_weight, eps, state_clip_value
                    ),
                ]
                grad_weights = [
                    None if weight is None else gradient.to(weight.dtype)
                    for weight, gradient in zip(weights, chain.from_iterable(grads_by_weight))
                ]
        return (grad_inputs, None, None, None, None, *grad_weights)


class _Layers(NamedTuple):
    """The weights of all layers."""

    input_weight: Matrices
    state_weight: Matrices
    bias: Sequence[torch.Tensor]
    projection: Matrices
    norm_weight: Optional[torch.Tensor]
    norm_bias: Optional[torch.Tensor]

    @classmethod
    def from_weights(cls, weights: Sequence[Any], num_layers: int, dtype: torch.dtype) -> "_Layers":
        input_weight, state_weight, bias, projection, norm_weight, norm_bias = (
            weights[start : start + num_layers] for start in range(0, len(weights), num_layers)
        )
        return cls(
            _matrices(input_weight, dtype),
            _matrices(state_weight, dtype),
            bias,
            _matrices(projection, dtype),
            *(
                None if weights[0] is None else torch.stack(list(weights)).unsqueeze(1)
                for weights in (norm_weight, norm_bias)
            ),
        )


def _select_ops(inputs: torch.Tensor) -> Any:
    """The module with the operations between the matrix products: Triton kernels on a GPU."""
    if inputs.is_cuda and inputs.dtype != torch.float64:
        return _gpu_ops(inputs.device)
    return torch_ops


@lru_cache(maxsize=None)
def _gpu_ops(device: torch.device) -> Any:
    # Triton may be missing or lack a compiler, or the device may be too old: launch a kernel.
    try:
        from allennlp_semfit.modules.projected_lstm import triton_ops

        probe = torch.zeros(1, 1, 1, device=device)
        triton_ops.state_forward(probe, None, None, None, None, probe.clone(), probe.clone())
    except Exception as error:
        logger.warning(
            "Triton cannot run the LSTM's kernels on %s (%s). The LSTM uses PyTorch's operations "
            "instead, which are slower.",
            device,
            error,
        )
        return torch_ops
    return triton_ops


def _matmul_dtype(inputs: torch.Tensor) -> torch.dtype:
    # A product of empty matrices, because autocast's own functions differ by device and version.
    return (inputs.new_empty(1, 0) @ inputs.new_empty(0, 1)).dtype


def _step_slices(batch_sizes: List[int]) -> List[Tuple[slice, Optional[slice]]]:
    """For each step, the rows of its words and those of the previous words (`None` at first)."""
    starts = [0, *accumulate(batch_sizes)]
    return [
        (
            slice(start, start + size),
            slice(starts[step - 1], starts[step - 1] + size) if step else None,
        )
        for step, (start, size) in enumerate(zip(starts, batch_sizes))
    ]


def _matrices(weights: Sequence[torch.Tensor], dtype: torch.dtype) -> Matrices:
    """
    Stacks the weights on a GPU, where one kernel then multiplies all layers. On a CPU, the copy
    would take longer than it saves.
    """
    matrices = [weight.to(dtype) for weight in weights]
    return torch.stack(matrices) if matrices[0].is_cuda else matrices


def _transposed(matrices: Matrices) -> Matrices:
    if isinstance(matrices, torch.Tensor):
        return matrices.transpose(1, 2)
    return [matrix.t() for matrix in matrices]


def _matmul(
    rows: torch.Tensor, matrices: Matrices, out: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """`rows @ matrices`, layer by layer."""
    if out is None:
        out = rows.new_empty(*rows.shape[:2], matrices[0].size(1))
    if isinstance(matrices, torch.Tensor):
        return torch.bmm(rows, matrices, out=out)
    for layer, matrix in enumerate(matrices):
        torch.mm(rows[layer], matrix, out=out[layer])
    return out


def _add_matmul(rows: torch.Tensor, matrices: Matrices, out: torch.Tensor) -> None:
    """`out += rows @ matrices`, layer by layer."""
    if out.dtype != rows.dtype:
        out += _matmul(rows, matrices)
    elif isinstance(matrices, torch.Tensor):
        out.baddbmm_(rows, matrices)
    else:
        for layer, matrix in enumerate(matrices):
            out[layer].addmm_(rows[layer], matrix)


def _affine(
    rows: torch.Tensor, matrices: Matrices, bias: Sequence[torch.Tensor], out: torch.Tensor
) -> None:
    """`out = rows @ matrices + bias`, layer by layer."""
    if isinstance(matrices, torch.Tensor):
        torch.baddbmm(torch.stack(list(bias)).unsqueeze(1).to(rows.dtype), rows, matrices, out=out)
    else:
        for layer, matrix in enumerate(matrices):
            torch.addmm(bias[layer].to(rows.dtype), rows[layer], matrix, out=out[layer])


def _grad_weight(gradients: torch.Tensor, rows: torch.Tensor) -> Matrices:
    """`gradients.T @ rows`, layer by layer: the gradient of the matrix that multiplies `rows`."""
    if gradients.is_cuda:
        return torch.bmm(gradients.transpose(1, 2), rows)
    return [gradient.t() @ row for gradient, row in zip(gradients, rows)]
