from itertools import chain
from math import inf
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple, Union
from weakref import WeakKeyDictionary

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from allennlp_semfit.common.initialization import weights_follow
from allennlp_semfit.common.parallel import run_in_threads
from allennlp_semfit.modules.kernels.cuda_graphs import CapturedPass, GraphCache
from allennlp_semfit.modules.kernels.implementation import select_ops
from allennlp_semfit.modules.kernels.torch_ops import norm_backward


class ProjectedLstm(torch.nn.Module):
    """
    The parameters of a unidirectional LSTM layer with a projected state (Sak et al. 2014, "Long
    Short-Term Memory Recurrent Neural Network Architectures for Large Scale Acoustic Modeling"),
    which `run_in_lockstep` runs. At each step, the cell state is clipped; the output is projected,
    clipped and normalized (Ba et al. 2016, "Layer Normalization"). The normalized output is also
    the state of the next step.

    Without the layer norm, it is equivalent to AllenNLP's `LstmCellWithProjection` and its weights
    have the same names and layout: the gates are input, forget, candidate, output.

    See `bidirectional_language_model_lstm` for the parameters. `hidden_dim` is the dimension of the
    input, the state and the output. The kernels read only the weights of the submodules, so hooks
    and wrappers of these, such as LoRA's, have no effect.
    """

    def __init__(
        self,
        hidden_dim: int,
        cell_size: int,
        layer_norm: bool,
        memory_cell_clip_value: Optional[float],
        state_projection_clip_value: Optional[float],
        implementation: str = "auto",
    ) -> None:
        super().__init__()
        self.implementation = implementation
        self.hidden_dim = hidden_dim
        self.cell_size = cell_size
        self.memory_cell_clip_value = memory_cell_clip_value
        self.state_projection_clip_value = state_projection_clip_value
        self.input_linearity = torch.nn.Linear(hidden_dim, 4 * cell_size, bias=False)
        self.state_linearity = torch.nn.Linear(hidden_dim, 4 * cell_size, bias=True)
        self.state_projection = torch.nn.Linear(cell_size, hidden_dim, bias=False)
        self.layer_norm = torch.nn.LayerNorm(hidden_dim) if layer_norm else torch.nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthogonal weights and a forget gate bias of 1, as in `LstmCellWithProjection`."""
        # Orthogonal weights take seconds: skip them if the weights are about to be loaded.
        if not weights_follow.get():
            for linearity in (self.input_linearity, self.state_linearity):
                for gate in linearity.weight.data.split(self.cell_size):
                    torch.nn.init.orthogonal_(gate)
        self.state_linearity.bias.data.fill_(0.0)
        self.state_linearity.bias.data[self.cell_size : 2 * self.cell_size].fill_(1.0)


def run_in_lockstep(
    layers: Sequence[ProjectedLstm], inputs: torch.Tensor, batch_sizes: List[int]
) -> torch.Tensor:
    """
    Runs several layers of the same sizes in parallel, each on its own input. The inputs and the
    states have the shape `(len(layers), sum(batch_sizes), hidden_dim)` and the layout that
    `BidirectionalStack._run_layers` describes.
    """
    # `torch.compile` must not trace the function, because it overwrites tensors that the backward
    # pass reads. Importing the compiler takes seconds.
    if torch.compiler.is_compiling():
        return torch.compiler.disable(run_in_lockstep)(layers, inputs, batch_sizes)
    weights = [
        (
            layer.input_linearity.weight,
            layer.state_linearity.weight,
            layer.state_linearity.bias,
            layer.state_projection.weight,
            getattr(layer.layer_norm, "weight", None),
            getattr(layer.layer_norm, "bias", None),
        )
        for layer in layers
    ]
    first = layers[0]
    clip_values = (first.memory_cell_clip_value, first.state_projection_clip_value)
    return _ProjectedLstmFunction.apply(
        inputs,
        batch_sizes,
        *(inf if clip_value is None else clip_value for clip_value in clip_values),
        getattr(first.layer_norm, "eps", 0.0),
        first.implementation,
        _graphs_of(first, batch_sizes) if inputs.is_cuda else None,
        *(weight for same_weights in zip(*weights) for weight in same_weights),
    )


# Batches of more sentences keep a GPU busy without a CUDA graph.
_MAX_GRAPH_SIZE = 256
# Graphs are captured for the lengths that are multiples of this.
_GRAPH_STEPS = 4
# Graphs cannot be copied, so they are not attributes of the layers.
_graphs: "WeakKeyDictionary[ProjectedLstm, GraphCache]" = WeakKeyDictionary()


def _graphs_of(layer: ProjectedLstm, batch_sizes: List[int]) -> Optional[GraphCache]:
    is_rectangular = len(set(batch_sizes)) == 1
    if not torch.is_grad_enabled() or not is_rectangular or batch_sizes[0] > _MAX_GRAPH_SIZE:
        return None
    # Activation checkpointing runs the forward pass twice and needs the same saved tensors both
    # times, but the second time the graph is in use.
    if torch._C._autograd._top_saved_tensors_default_hooks(False) is not None:
        return None
    return _graphs.setdefault(layer, GraphCache())


class _ProjectedLstmFunction(torch.autograd.Function):
    """
    The forward and backward pass of `ProjectedLstm`, for several layers in parallel. The matrix
    products that do not depend on the previous state, including those of the weight gradients, are
    computed for all steps at once. Between the other products, operations are fused and in place.
    On a GPU, each matrix product is a batched one for all layers, and small training batches run as
    CUDA graphs. On a CPU, each layer runs in a thread.

    The forward pass saves `_Saved`; everything else is recomputed. Under `torch.autocast`, the
    matrix products use autocast's type; the cell state, the states and the layer norm use
    `float32`.

    The inputs and the states are those of `run_in_lockstep`. The weights are the input weights of
    all layers, then the state weights of all layers, both of shape `(4 * cell_size, hidden_dim)`;
    the biases, shape `(4 * cell_size,)`; the projections, shape `(hidden_dim, cell_size)`; and the
    layer norms' weights and biases, shape `(hidden_dim,)`, or `None`. Without clipping, a clip
    value is infinite.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        batch_sizes: List[int],
        cell_clip_value: float,
        state_clip_value: float,
        eps: float,
        implementation: str,
        graphs: Optional[GraphCache],
        *weights: Optional[torch.Tensor],
    ) -> torch.Tensor:
        # Autocast's own functions differ by device and version, so multiply empty matrices.
        dtype = (inputs.new_empty(1, 0) @ inputs.new_empty(0, 1)).dtype
        inputs = inputs.to(dtype).contiguous()
        ops = select_ops(implementation, inputs.device, dtype, _state_dtype(inputs, weights))
        multiply = torch.bmm if inputs.is_cuda else torch.mm
        options = _Options(ops, multiply, batch_sizes, cell_clip_value, state_clip_value, eps)
        ctx.options = options
        ctx.needs = ctx.needs_input_grad[0], any(ctx.needs_input_grad[7:])
        ctx.graph = None
        if graphs is not None and any(ctx.needs):
            ctx.graph = _get_graph(graphs, inputs, weights, options, *ctx.needs)
        if ctx.graph is not None:
            with torch.cuda.device_of(inputs):
                states, ctx.lease = ctx.graph.forward(inputs)
            ctx.save_for_backward(*weights)
        else:
            states, saved = _forward_all_layers(inputs, weights, options)
            tensors, ctx.structure = tree_flatten(saved)
            ctx.save_for_backward(*weights, *tensors)
        ctx.num_weights = len(weights)
        return states

    @staticmethod
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        # `once_differentiable` raises an error only if `grad_outputs` requires a gradient, and
        # otherwise treats the derivative as a constant.
        if torch.is_grad_enabled():
            raise RuntimeError(
                "The derivatives of the contextualizers and heads of allennlp_semfit cannot be "
                "differentiated again, as gradient penalties and second derivatives require. Call "
                "autograd without `create_graph=True`."
            )
        # Activation checkpointing and other saved tensor hooks allow only one access.
        saved_tensors = ctx.saved_tensors
        weights, saved = saved_tensors[: ctx.num_weights], saved_tensors[ctx.num_weights :]
        if ctx.graph is not None:
            with torch.cuda.device_of(grad_outputs):
                grad_inputs, grads = ctx.graph.backward(grad_outputs, ctx.lease)
        else:
            grad_inputs, *grads = _backward_all_layers(
                grad_outputs, tree_unflatten(saved, ctx.structure), ctx.options, *ctx.needs
            )
        # Weights are sorted by kind, then by layer.
        grad_weights = [
            # The next pass of a graph overwrites its gradients.
            grad.to(weight.dtype, copy=ctx.graph is not None)
            for grad, weight in zip(chain.from_iterable(grads), weights)
        ]
        # An absent layer norm has no gradients, nor has any weight if none needs one.
        missing = [None] * (len(weights) - len(grad_weights))
        return (grad_inputs, None, None, None, None, None, None, *grad_weights, *missing)


def _get_graph(
    graphs: GraphCache,
    inputs: torch.Tensor,
    weights: Sequence[Optional[torch.Tensor]],
    options: "_Options",
    needs_inputs: bool,
    needs_weights: bool,
) -> Optional[CapturedPass]:
    if torch.cuda.is_current_stream_capturing():
        return None
    num_layers, _, hidden_dim = inputs.shape
    batch_size, num_steps = options.batch_sizes[0], len(options.batch_sizes)
    num_steps += -num_steps % _GRAPH_STEPS
    # The added steps do not change the states before them, and their gradients are zero.
    padded = options._replace(batch_sizes=[batch_size] * num_steps)

    def capture(memory: Any) -> CapturedPass:
        return CapturedPass(
            memory,
            inputs.new_zeros(num_layers, batch_size * num_steps, hidden_dim),
            lambda inputs: _forward_all_layers(inputs, weights, padded),
            lambda grad_outputs, saved: _backward_all_layers(
                grad_outputs, saved, padded, needs_inputs, needs_weights
            ),
        )

    addresses = (weight is not None and weight.data_ptr() for weight in weights)
    numbers = (options.cell_clip_value, options.state_clip_value, options.eps)
    others = (options.ops, inputs.dtype, needs_inputs, needs_weights)
    with torch.cuda.device_of(inputs):
        return graphs.get((*addresses, *numbers, *others), (batch_size, num_steps), capture)


class _Options(NamedTuple):
    ops: Any
    multiply: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    batch_sizes: List[int]
    cell_clip_value: float
    state_clip_value: float
    eps: float


class _LayerWeights(NamedTuple):
    """The weights of a layer; matrices have the type of the matrix products."""

    input_weight: torch.Tensor
    state_weight: torch.Tensor
    bias: torch.Tensor
    projection: torch.Tensor
    norm_weight: Optional[torch.Tensor]
    norm_bias: Optional[torch.Tensor]


class _SavedLayer(NamedTuple):
    """The tensors that the backward pass of a layer needs."""

    gates: torch.Tensor
    # Before clipping, like `projected`.
    cell_state: torch.Tensor
    projected: torch.Tensor
    # Saved in the type of the products, because converting them again would take time.
    weights: _LayerWeights


class _Saved(NamedTuple):
    """The tensors that the backward pass needs."""

    inputs: torch.Tensor
    # The states in the type of the matrix products.
    recurrent: torch.Tensor
    # On a GPU, one item with the tensors of all layers, stacked.
    layers: List[_SavedLayer]


def _layer_indices(inputs: torch.Tensor) -> Sequence[Union[int, slice]]:
    """Indices into a buffer of all layers: one slice on a GPU, one index per layer on a CPU."""
    return [slice(None)] if inputs.is_cuda else range(len(inputs))


def _state_dtype(inputs: torch.Tensor, weights: Sequence[Any]) -> torch.dtype:
    # The first bias follows the two matrices of each layer.
    return weights[2 * len(inputs)].dtype


def _forward_all_layers(
    inputs: torch.Tensor, weights: Sequence[Optional[torch.Tensor]], options: _Options
) -> Tuple[torch.Tensor, _Saved]:
    """Returns the states, and the tensors for `_backward_all_layers`."""
    states = torch.empty_like(inputs, dtype=_state_dtype(inputs, weights))
    recurrent = states if states.dtype == inputs.dtype else torch.empty_like(inputs)

    def run(layer: Tuple[Union[int, slice], _LayerWeights]) -> _SavedLayer:
        index, layer_weights = layer
        buffers = (buffer[index] for buffer in (inputs, states, recurrent))
        return _forward_layer(layer_weights, options, *buffers)

    layers = list(zip(_layer_indices(inputs), _weights_of_layers(weights, inputs)))
    with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
        return states, _Saved(inputs, recurrent, run_in_threads(run, layers))


def _backward_all_layers(
    grad_outputs: torch.Tensor,
    saved: _Saved,
    options: _Options,
    needs_inputs: bool,
    needs_weights: bool,
) -> Sequence[Any]:
    """
    Returns the gradient of the inputs or `None`, and, for each kind of weights, the gradients of
    all layers.
    """
    inputs, recurrent, saved_layers = saved
    # Each step adds the gradients from the next step.
    grad_states = grad_outputs.clone(memory_format=torch.contiguous_format)

    def run(
        layer: Tuple[Union[int, slice], _SavedLayer],
    ) -> Tuple[Optional[torch.Tensor], Sequence[torch.Tensor]]:
        index, saved_layer = layer
        buffers = (buffer[index] for buffer in (grad_states, inputs, recurrent))
        return _backward_layer(saved_layer, options, needs_inputs, needs_weights, *buffers)

    layers = list(zip(_layer_indices(inputs), saved_layers))
    with torch.cuda.device_of(inputs), torch.autocast(inputs.device.type, enabled=False):
        grads = run_in_threads(run, layers)
    if inputs.is_cuda:
        return (grads[0][0], *grads[0][1])
    input_grads, weight_grads = zip(*grads)
    return (torch.stack(input_grads) if needs_inputs else None, *zip(*weight_grads))


def _weights_of_layers(weights: Sequence[Any], inputs: torch.Tensor) -> List[_LayerWeights]:
    num_layers, dtype = len(inputs), inputs.dtype
    # The weights of products are matrices; those that are added or multiplied are vectors.
    if not inputs.is_cuda:
        # The native kernels take addresses: a vector of a smaller type would be read past its end.
        dtypes = {1: _state_dtype(inputs, weights), 2: dtype}
        converted: List[Any] = [
            weight if weight is None else weight.to(dtypes[weight.dim()]) for weight in weights
        ]
        return [_LayerWeights(*converted[index::num_layers]) for index in range(num_layers)]
    starts = range(0, len(weights), num_layers)
    stacks: List[Any] = [_stack(weights[start : start + num_layers], dtype) for start in starts]
    return [_LayerWeights(*stacks)]


def _stack(weights: Sequence[Any], dtype: torch.dtype) -> Optional[torch.Tensor]:
    """Stacks matrices in the type `dtype`, or vectors as rows that broadcast over the words."""
    first = weights[0]
    if first is None or first.dim() == 1:
        return None if first is None else torch.stack(list(weights)).unsqueeze(1)
    stacked = first.new_empty(len(weights), *first.shape, dtype=dtype)
    for number, weight in enumerate(weights):
        stacked[number].copy_(weight)
    return stacked


def _forward_layer(
    weights: _LayerWeights,
    options: _Options,
    inputs: torch.Tensor,
    states: torch.Tensor,
    recurrent: torch.Tensor,
) -> _SavedLayer:
    """Computes `states` and `recurrent`."""
    ops, multiply, batch_sizes, cell_clip_value, state_clip_value, eps = options
    input_weight, state_weight, bias, projection, *norm = weights
    gates = multiply(inputs, input_weight.mT)
    cell_dtype = torch.promote_types(gates.dtype, torch.float32)
    cell_state = gates.new_empty(*gates.shape[:-1], gates.size(-1) // 4, dtype=cell_dtype)
    if not batch_sizes:
        return _SavedLayer(gates, cell_state, torch.empty_like(inputs), weights)
    to_gates, to_state = state_weight.mT, projection.mT
    hidden = gates.new_empty(*gates.shape[:-2], batch_sizes[0], cell_state.size(-1))
    previous_cell_state: Optional[torch.Tensor] = None
    previous_recurrent: Optional[torch.Tensor] = None
    recurrent_gates: Optional[torch.Tensor] = None
    projected = []
    buffers = (gates, cell_state, states, recurrent)
    for gate, cell, state, new_recurrent in _steps(buffers, batch_sizes):
        size = gate.size(-2)
        if previous_cell_state is not None and previous_recurrent is not None:
            previous_cell_state = _first_rows(previous_cell_state, size)
            previous_recurrent = _first_rows(previous_recurrent, size)
            if gate.dim() == 3:
                gate.baddbmm_(previous_recurrent, to_gates)
            else:
                recurrent_gates = multiply(previous_recurrent, to_gates)
        hidden = _first_rows(hidden, size)
        ops.cell_forward(
            gate, recurrent_gates, bias, previous_cell_state, cell_clip_value, cell, hidden
        )
        output = multiply(hidden, to_state)
        ops.state_forward(output, *norm, eps, state_clip_value, state, new_recurrent)
        projected.append(output)
        previous_cell_state, previous_recurrent = cell, new_recurrent
    return _SavedLayer(gates, cell_state, torch.cat(projected, dim=-2), weights)


def _backward_layer(
    saved: _SavedLayer,
    options: _Options,
    needs_inputs: bool,
    needs_weights: bool,
    grad_states: torch.Tensor,
    inputs: torch.Tensor,
    recurrent: torch.Tensor,
) -> Tuple[Optional[torch.Tensor], Sequence[torch.Tensor]]:
    """Returns the gradients that are needed of the inputs and of the weights."""
    gates, cell_state, projected, weights = saved
    input_weight, state_weight, bias, projection, norm_weight, _ = weights
    ops, multiply, batch_sizes, cell_clip_value, state_clip_value, eps = options
    grad_gates = torch.empty_like(gates)
    grad_projected = torch.empty_like(projected)
    hidden = torch.empty_like(cell_state, dtype=inputs.dtype)
    first = batch_sizes[0] if batch_sizes else 0
    grad_cell_states = cell_state.new_zeros(*gates.shape[:-2], first, cell_state.size(-1))
    bias_sums = ops.new_bias_sums(gates, first)
    grad_recurrent: Optional[torch.Tensor] = None
    buffers = (grad_states, gates, cell_state, projected, grad_gates, grad_projected, hidden)
    steps = _steps(buffers, batch_sizes)
    for number in reversed(range(len(steps))):
        grad_state, gate, cell, output, grad_gate, grad_output, cell_output = steps[number]
        size = gate.size(-2)
        ops.state_backward(
            grad_state, grad_recurrent, output, norm_weight, eps, state_clip_value, grad_output
        )
        ops.cell_backward(
            multiply(grad_output, projection),
            gate,
            bias,
            _first_rows(steps[number - 1][2], size) if number else None,
            cell_clip_value,
            cell,
            _first_rows(grad_cell_states, size),
            grad_gate,
            cell_output,
            bias_sums,
        )
        if number:
            grad_recurrent = multiply(grad_gate, state_weight)
    grad_inputs = multiply(grad_gates, input_weight) if needs_inputs else None
    if not needs_weights:
        return grad_inputs, ()
    # The states of the previous step, for all words after the first step.
    previous = [
        _first_rows(state, size)
        for state, size in zip(recurrent.split(batch_sizes, dim=-2), batch_sizes[1:])
    ]
    grads = [
        multiply(grad_gates.mT, inputs),
        multiply(
            grad_gates[..., first:, :].mT, torch.cat([recurrent[..., :0, :], *previous], dim=-2)
        ),
        # In half precision, the sum is computed in `float32` and then rounded, as in the products.
        (grad_gates if bias_sums is None else bias_sums).sum(-2),
        multiply(grad_projected.mT, hidden),
    ]
    if norm_weight is not None:
        grads += norm_backward(grad_states, projected, eps, state_clip_value)
    return grad_inputs, grads


def _steps(buffers: Sequence[torch.Tensor], batch_sizes: List[int]) -> Sequence[Any]:
    """Returns the rows of each buffer for each step."""
    return list(zip(*(buffer.split(batch_sizes, dim=-2) for buffer in buffers)))


def _first_rows(tensor: torch.Tensor, size: int) -> torch.Tensor:
    return tensor if tensor.size(-2) == size else tensor.narrow(-2, 0, size)
