from importlib import import_module
from itertools import chain
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from allennlp_semfit.modules.kernels.autograd import apply_eagerly, differentiable_once
from allennlp_semfit.modules.kernels.implementation import choose_implementation
from allennlp_semfit.modules.kernels.products import Product, product_dtype, select_product
from allennlp_semfit.modules.kernels.projected_lstm.threads import run_in_threads

__all__ = ["ProjectedLstmFunction", "apply_projected_lstm"]


class ProjectedLstmFunction(torch.autograd.Function):
    """
    The forward and backward pass of [`ProjectedLstm`](../layer#projectedlstm), for several layers
    in parallel. The matrix products that do not depend on the previous state, including those of
    the weight gradients, are computed for all steps at once. The operations between the others are
    fused and work in place. On a GPU, a product is that of all layers; on a CPU, the layers run in
    threads of their own.

    For the backward pass, it saves the gate activations, the states, the cell state and projected
    output before clipping, and the weights in the type of the products; everything else is
    recomputed. Under `torch.autocast`, the matrix products use autocast's type; the cell state, the
    states and the layer norm use `float32`.

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
        implementation: str,
        *weights: Optional[torch.Tensor],
    ) -> torch.Tensor:
        dtype, bias = product_dtype(inputs), weights[2 * len(inputs)]
        assert bias is not None
        inputs = inputs.to(dtype).contiguous()
        ops, stacked = _select_ops(implementation, inputs, bias.dtype)
        multiply = torch.bmm if stacked else select_product(inputs.device, dtype)
        options = _Options(ops, multiply, batch_sizes, cell_clip_value, state_clip_value, eps)
        layers = _layers(weights, len(inputs), dtype, stacked)
        states = torch.empty_like(inputs, dtype=bias.dtype)
        # The states in the type of the matrix products.
        recurrent = states if states.dtype == dtype else torch.empty_like(inputs)

        def run(layer: _Layer) -> Sequence[torch.Tensor]:
            of_layer = (buffer[layer.number] for buffer in (inputs, states, recurrent))
            return _forward(layer, options, *of_layer)

        with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
            activations = run_in_threads(run, layers)
        # The converted weights too, because converting them again takes time.
        saved = [tensor for layer, own in zip(layers, activations) for tensor in (*own, *layer[1:])]
        ctx.save_for_backward(inputs, recurrent, *saved, *weights)
        ctx.numbers, ctx.options = [layer.number for layer in layers], options
        return states

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        inputs, recurrent, *others = ctx.saved_tensors
        # Each step adds to it the gradients from the next.
        grad_states = grad_outputs.clone(memory_format=torch.contiguous_format)
        needs_inputs, needs_weights = ctx.needs_input_grad[0], any(ctx.needs_input_grad[6:])

        def run(index: int) -> Tuple[Optional[torch.Tensor], Sequence[torch.Tensor]]:
            number, start = ctx.numbers[index], index * (_NUM_ACTIVATIONS + _NUM_WEIGHTS)
            activations = others[start : start + _NUM_ACTIVATIONS]
            layer = _Layer(number, *others[start + _NUM_ACTIVATIONS :][:_NUM_WEIGHTS])
            of_layer = (buffer[number] for buffer in (grad_states, inputs, recurrent))
            return _backward(
                layer, ctx.options, needs_inputs, needs_weights, *of_layer, *activations
            )

        with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
            of_inputs, of_weights = zip(*run_in_threads(run, range(len(ctx.numbers))))
        is_stacked = isinstance(ctx.numbers[0], slice)
        grad_inputs = None
        if needs_inputs:
            grad_inputs = of_inputs[0] if is_stacked else torch.stack(of_inputs)
        # By weight, then by layer.
        grads = chain.from_iterable(of_weights[0] if is_stacked else zip(*of_weights))
        weights = others[len(ctx.numbers) * (_NUM_ACTIVATIONS + _NUM_WEIGHTS) :]
        grad_weights = [grad.to(weight.dtype) for grad, weight in zip(grads, weights)]
        # Those of the missing layer norm, or of all weights.
        missing = [None] * (len(weights) - len(grad_weights))
        return (grad_inputs, None, None, None, None, None, *grad_weights, *missing)


apply_projected_lstm = apply_eagerly(ProjectedLstmFunction)


class _Options(NamedTuple):
    ops: Any
    multiply: Product
    batch_sizes: List[int]
    cell_clip_value: Optional[float]
    state_clip_value: Optional[float]
    eps: Optional[float]


class _Layer(NamedTuple):
    """The weights of a layer, or of all, stacked; matrices in the type of their products."""

    # Or a slice of all layers.
    number: Union[int, slice]
    input_weight: torch.Tensor
    state_weight: torch.Tensor
    bias: torch.Tensor
    projection: torch.Tensor
    norm_weight: Optional[torch.Tensor]
    norm_bias: Optional[torch.Tensor]


_NUM_WEIGHTS = len(_Layer._fields) - 1
# The gate activations, the cell state and the projected output.
_NUM_ACTIVATIONS = 3


def _layers(
    weights: Sequence[Any], num_layers: int, dtype: torch.dtype, stacked: bool
) -> List[_Layer]:
    by_weight = [
        list(weights[start : start + num_layers]) for start in range(0, len(weights), num_layers)
    ]
    # The weights of products are matrices; those that are added or multiplied are vectors.
    converted = [
        [
            weight.to(dtype) if weight is not None and weight.dim() == 2 else weight
            for weight in of_layers
        ]
        for of_layers in by_weight
    ]
    if not stacked:
        return [_Layer(number, *of_layer) for number, of_layer in enumerate(zip(*converted))]
    together: List[Any] = [
        None if of_layers[0] is None else torch.stack(of_layers) for of_layers in converted
    ]
    return [
        _Layer(
            slice(None),
            *(
                weight.unsqueeze(1) if weight is not None and weight.dim() == 2 else weight
                for weight in together
            ),
        )
    ]


def _forward(
    layer: _Layer,
    options: _Options,
    inputs: torch.Tensor,
    states: torch.Tensor,
    recurrent: torch.Tensor,
) -> Sequence[torch.Tensor]:
    """
    Writes `states` and `recurrent`. Returns the gate activations, the cell state and the projected
    output, the latter two before clipping.
    """
    ops, multiply, batch_sizes, cell_clip_value, state_clip_value, eps = options
    gates = multiply(inputs, layer.input_weight.mT)
    cell_dtype = torch.promote_types(gates.dtype, torch.float32)
    cell_state = gates.new_empty(*gates.shape[:-1], gates.size(-1) // 4, dtype=cell_dtype)
    if not batch_sizes:
        return gates, cell_state, torch.empty_like(inputs)
    to_gates, to_state = layer.state_weight.mT, layer.projection.mT
    hidden = gates.new_empty(*gates.shape[:-2], batch_sizes[0], cell_state.size(-1))
    previous_cell_state: Optional[torch.Tensor] = None
    previous_recurrent: Optional[torch.Tensor] = None
    recurrent_gates: Optional[torch.Tensor] = None
    projected = []
    buffers = (gates, cell_state, states, recurrent)
    for gate, cell, state, new_recurrent in zip(*_steps(buffers, batch_sizes)):
        size = gate.size(-2)
        if previous_cell_state is not None and previous_recurrent is not None:
            previous_cell_state = _first_rows(previous_cell_state, size)
            recurrent_gates = multiply(_first_rows(previous_recurrent, size), to_gates)
        hidden = _first_rows(hidden, size)
        ops.cell_forward(
            gate, recurrent_gates, layer.bias, previous_cell_state, cell_clip_value, cell, hidden
        )
        output = multiply(hidden, to_state)
        ops.state_forward(
            output, layer.norm_weight, layer.norm_bias, eps, state_clip_value, state, new_recurrent
        )
        projected.append(output)
        previous_cell_state, previous_recurrent = cell, new_recurrent
    return gates, cell_state, torch.cat(projected, dim=-2)


def _backward(
    layer: _Layer,
    options: _Options,
    needs_inputs: bool,
    needs_weights: bool,
    grad_states: torch.Tensor,
    inputs: torch.Tensor,
    recurrent: torch.Tensor,
    gates: torch.Tensor,
    cell_state: torch.Tensor,
    projected: torch.Tensor,
) -> Tuple[Optional[torch.Tensor], Sequence[torch.Tensor]]:
    """The gradients of the inputs and of the weights, those that are needed."""
    ops, multiply, batch_sizes, cell_clip_value, state_clip_value, eps = options
    grad_gates = torch.empty_like(gates)
    grad_projected = torch.empty_like(projected)
    hidden = torch.empty_like(cell_state, dtype=inputs.dtype)
    first = batch_sizes[0] if batch_sizes else 0
    grad_cell_states = cell_state.new_zeros(*gates.shape[:-2], first, cell_state.size(-1))
    grad_recurrent: Optional[torch.Tensor] = None
    buffers = (grad_states, gates, cell_state, projected, grad_gates, grad_projected, hidden)
    steps = list(zip(*_steps(buffers, batch_sizes)))
    for number in reversed(range(len(steps))):
        grad_state, gate, cell, output, grad_gate, grad_output, cell_output = steps[number]
        size = gate.size(-2)
        ops.state_backward(
            grad_state,
            grad_recurrent,
            output,
            layer.norm_weight,
            eps,
            state_clip_value,
            grad_output,
        )
        ops.cell_backward(
            multiply(grad_output, layer.projection),
            gate,
            _first_rows(steps[number - 1][2], size) if number else None,
            cell_clip_value,
            cell,
            _first_rows(grad_cell_states, size),
            grad_gate,
            cell_output,
        )
        if number:
            grad_recurrent = multiply(grad_gate, layer.state_weight)
    grad_inputs = multiply(grad_gates, layer.input_weight) if needs_inputs else None
    if not needs_weights:
        return grad_inputs, ()
    # The states of the previous step, for all words but the first ones.
    previous = [
        _first_rows(state, size)
        for state, size in zip(recurrent.split(batch_sizes, dim=-2), batch_sizes[1:])
    ]
    grads = [
        multiply(grad_gates.mT, inputs),
        multiply(
            grad_gates[..., first:, :].mT, torch.cat([recurrent[..., :0, :], *previous], dim=-2)
        ),
        ops.sum_rows(grad_gates),
        multiply(grad_projected.mT, hidden),
    ]
    if layer.norm_weight is not None:
        grads += ops.norm_backward(grad_states, projected, eps, state_clip_value)
    return grad_inputs, grads


def _select_ops(
    implementation: str, inputs: torch.Tensor, parameter_dtype: torch.dtype
) -> Tuple[Any, bool]:
    """
    The module with the operations between the matrix products, and whether all layers are stacked.
    """
    chosen = choose_implementation(implementation, inputs.device, inputs.dtype, parameter_dtype)
    # Not at the top, because Triton may be missing.
    return import_module(f"{__package__}.{chosen}_ops"), inputs.is_cuda


def _steps(
    tensors: Sequence[torch.Tensor], batch_sizes: List[int]
) -> Sequence[Sequence[torch.Tensor]]:
    """The rows of each step, for each tensor."""
    return [tensor.split(batch_sizes, dim=-2) for tensor in tensors]


def _first_rows(tensor: torch.Tensor, size: int) -> torch.Tensor:
    return tensor if tensor.size(-2) == size else tensor.narrow(-2, 0, size)
