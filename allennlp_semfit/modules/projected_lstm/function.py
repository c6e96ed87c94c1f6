import logging
from functools import lru_cache
from itertools import accumulate
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch.autograd.function import once_differentiable

from allennlp_semfit.modules.projected_lstm import torch_ops

__all__ = ["ProjectedLstmFunction"]

logger = logging.getLogger(__name__)

# One a layer: stacked in one tensor, or each as it is.
Matrices = Union[torch.Tensor, List[torch.Tensor]]


class ProjectedLstmFunction(torch.autograd.Function):
    """
    Layers of [`ProjectedLstm`](../projected_lstm#projectedlstm) side by side, forwards and
    backwards, in little but matrix products: those that need no state are done for all steps at
    once, the weights' gradients among them, and what lies between the others is done in place.

    Of each step it keeps what came out of the gates, and the memory and the projected output as
    they were before they were clipped; the backward pass computes the rest again. Under
    `torch.autocast` the matrix products are of autocast's type, and the memory, the states and the
    layer norm of single precision.

    # Parameters

    inputs : `torch.Tensor`
        Shape `(layers, words, hidden_dim)`, in the layout that `run_in_lockstep` describes.
    batch_sizes : `List[int]`
    cell_clip_value, state_clip_value : `Optional[float]`
        The clip values.
    eps : `Optional[float]`
        The layer norm's.
    weights : `Optional[torch.Tensor]`
        One of each of these a layer, kind by kind: the input's weights and the state's, both of
        shape `(4 * cell_size, hidden_dim)`; the bias, shape `(4 * cell_size,)`; the projection,
        shape `(hidden_dim, cell_size)`; and the layer norm's weight and bias, shape
        `(hidden_dim,)`, or `None`.

    # Returns

    `torch.Tensor`
        The states, shape `(layers, words, hidden_dim)`, of the weights' type.
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
        dtype = _type_of_products(inputs)
        inputs = inputs.to(dtype)
        ops, slices = _ops_for(inputs), _slices(batch_sizes)
        with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
            layers = _Layers.of(weights, len(inputs), dtype)
            num_layers, num_words, hidden_dim = inputs.shape
            cell_size = layers.projection[0].size(1)
            gates = inputs.new_empty(num_layers, num_words, 4 * cell_size)
            _affine(inputs, _transposed(layers.input_weight), layers.bias, out=gates)
            cell_state = inputs.new_empty(
                num_layers, num_words, cell_size, dtype=torch.promote_types(dtype, torch.float32)
            )
            projected = torch.empty_like(inputs)
            states = torch.empty_like(inputs, dtype=layers.bias[0].dtype)
            # What the next step multiplies.
            recurrent = states if states.dtype == dtype else torch.empty_like(inputs)
            to_gates, to_state = _transposed(layers.state_weight), _transposed(layers.projection)
            for rows, carried in slices:
                if carried is not None:
                    _add_products(recurrent[:, carried], to_gates, out=gates[:, rows])
                hidden = inputs.new_empty(num_layers, rows.stop - rows.start, cell_size)
                ops.cell_forward(
                    gates[:, rows],
                    None if carried is None else cell_state[:, carried],
                    cell_clip_value,
                    cell_state[:, rows],
                    hidden,
                )
                _products(hidden, to_state, out=projected[:, rows])
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
        ops = _ops_for(inputs)
        with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
            layers = _Layers.of(weights, len(inputs), inputs.dtype)
            # To what a later step says of a state, it is added as the loop comes by.
            grad_states = grad_outputs.clone(memory_format=torch.contiguous_format)
            grad_gates = torch.empty_like(gates)
            grad_projected = torch.empty_like(projected)
            hidden = torch.empty_like(cell_state, dtype=inputs.dtype)
            first = slices[0][0].stop if slices else 0
            grad_cell_state = cell_state.new_zeros(len(inputs), first, cell_state.size(2))
            for rows, carried in reversed(slices):
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
                    _products(grad_projected[:, rows], layers.projection),
                    gates[:, rows],
                    None if carried is None else cell_state[:, carried],
                    cell_clip_value,
                    cell_state[:, rows],
                    grad_cell_state[:, :size],
                    grad_gates[:, rows],
                    hidden[:, rows],
                )
                if carried is not None:
                    _add_products(
                        grad_gates[:, rows], layers.state_weight, out=grad_states[:, carried]
                    )
            grad_inputs = None
            if ctx.needs_input_grad[0]:
                grad_inputs = _products(grad_gates, layers.input_weight)
            grad_weights: List[Optional[torch.Tensor]] = [None] * len(weights)
            if any(ctx.needs_input_grad[-len(weights) :]):
                previous = [recurrent[:, carried] for _, carried in slices[1:]]
                kinds = [
                    _outer_products(grad_gates, inputs),
                    _outer_products(
                        grad_gates[:, first:], torch.cat([recurrent[:, :0], *previous], dim=1)
                    ),
                    grad_gates.sum(1, dtype=grad_states.dtype),
                    _outer_products(grad_projected, hidden),
                    *torch_ops.norm_backward(
                        grad_states, projected, layers.norm_weight, eps, state_clip_value
                    ),
                ]
                grad_weights = [
                    None if weight is None else gradient.to(weight.dtype)
                    for weight, gradient in zip(weights, (one for kind in kinds for one in kind))
                ]
        return (grad_inputs, None, None, None, None, *grad_weights)


class _Layers(NamedTuple):
    """The weights of all layers, kind by kind, as the steps take them."""

    input_weight: Matrices
    state_weight: Matrices
    bias: Sequence[torch.Tensor]
    projection: Matrices
    norm_weight: Optional[torch.Tensor]
    norm_bias: Optional[torch.Tensor]

    @classmethod
    def of(cls, weights: Sequence[Any], num_layers: int, dtype: torch.dtype) -> "_Layers":
        kinds = [weights[at : at + num_layers] for at in range(0, len(weights), num_layers)]
        input_weight, state_weight, bias, projection, norm_weight, norm_bias = kinds
        return cls(
            _matrices(input_weight, dtype),
            _matrices(state_weight, dtype),
            bias,
            _matrices(projection, dtype),
            *(
                None if kind[0] is None else torch.stack(list(kind)).unsqueeze(1)
                for kind in (norm_weight, norm_bias)
            ),
        )


def _ops_for(inputs: torch.Tensor) -> Any:
    """The module of what lies between the matrix products: on a GPU, of one kernel each."""
    if inputs.is_cuda and inputs.dtype != torch.float64:
        return _ops_on(inputs.device)
    return torch_ops


@lru_cache(maxsize=None)
def _ops_on(device: torch.device) -> Any:
    # Triton may be missing, or find no compiler, or the device too old; a first launch tells.
    try:
        from allennlp_semfit.modules.projected_lstm import triton_ops

        one = torch.zeros(1, 1, 1, device=device)
        triton_ops.state_forward(one, None, None, None, None, one.clone(), one.clone())
    except Exception as error:
        logger.warning(
            "Training goes on without the LSTM's kernels, and slower: Triton cannot run them on "
            "%s (%s).",
            device,
            error,
        )
        return torch_ops
    return triton_ops


def _type_of_products(inputs: torch.Tensor) -> torch.dtype:
    # Asking for one covers every device and version that autocast has its own questions for.
    return (inputs.new_empty(1, 0) @ inputs.new_empty(0, 1)).dtype


def _slices(batch_sizes: List[int]) -> List[Tuple[slice, Optional[slice]]]:
    """Where each step's words are, and where those before them in the same sentences are."""
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
    Stacked on a GPU, where one kernel then multiplies all of them and the directions overlap; on a
    CPU the copy would cost more than it gains.
    """
    matrices = [weight.to(dtype) for weight in weights]
    return torch.stack(matrices) if matrices[0].is_cuda else matrices


def _transposed(matrices: Matrices) -> Matrices:
    if isinstance(matrices, torch.Tensor):
        return matrices.transpose(1, 2)
    return [matrix.t() for matrix in matrices]


def _products(
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


def _add_products(rows: torch.Tensor, matrices: Matrices, out: torch.Tensor) -> None:
    """`out += rows @ matrices`, layer by layer."""
    if out.dtype != rows.dtype:
        out += _products(rows, matrices)
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


def _outer_products(gradients: torch.Tensor, rows: torch.Tensor) -> Matrices:
    """`gradients.T @ rows`, layer by layer: the gradient of a matrix that `rows` are taken by."""
    if gradients.is_cuda:
        return torch.bmm(gradients.transpose(1, 2), rows)
    return [gradient.t() @ row for gradient, row in zip(gradients, rows)]
