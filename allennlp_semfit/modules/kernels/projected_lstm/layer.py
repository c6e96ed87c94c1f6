from typing import List, Optional, Sequence

import torch
from allennlp.nn.initializers import block_orthogonal

from allennlp_semfit.modules.kernels.projected_lstm.function import apply_projected_lstm

__all__ = ["ProjectedLstm", "run_in_lockstep"]


class ProjectedLstm(torch.nn.Module):
    """
    A unidirectional LSTM layer with a projected state (Sak et al. 2014, "Long Short-Term Memory
    Recurrent Neural Network Architectures for Large Scale Acoustic Modeling"). At each step, the
    cell state is clipped; the output is projected, clipped and normalised (Ba et al. 2016, "Layer
    Normalization"). The normalised output is also the state of the next step.

    Without the layer norm, it is equivalent to AllenNLP's `LstmCellWithProjection` and its weights
    have the same names and layout: the gates are input, forget, candidate, output.

    # Parameters

    hidden_dim : `int`
        The dimension of the input, the state and the output.
    cell_size : `int`
        The number of memory cells.
    layer_norm : `bool`
        Whether to normalise the state.
    memory_cell_clip_value : `float`
        The maximum magnitude of the cell state; `None` for no clipping.
    state_projection_clip_value : `float`
        The maximum magnitude of the projected output; `None` for no clipping.
    implementation : `str`, optional (default = `"auto"`)
        The implementation of the operations between the matrix products: see
        [`choose_implementation`](../../implementation#choose_implementation).
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
        for linearity in (self.input_linearity, self.state_linearity):
            block_orthogonal(linearity.weight.data, [self.cell_size, self.hidden_dim])
        self.state_linearity.bias.data.fill_(0.0)
        self.state_linearity.bias.data[self.cell_size : 2 * self.cell_size].fill_(1.0)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The inputs and the states have the shape `(batch_size, length, hidden_dim)`."""
        batch_size, length, hidden_dim = inputs.shape
        time_major = inputs.transpose(0, 1).reshape(1, length * batch_size, hidden_dim)
        (outputs,) = run_in_lockstep([self], time_major, [batch_size] * length)
        return outputs.view(length, batch_size, hidden_dim).transpose(0, 1)


def run_in_lockstep(
    layers: Sequence[ProjectedLstm], inputs: torch.Tensor, batch_sizes: List[int]
) -> torch.Tensor:
    """
    Runs several layers of the same sizes in parallel, each on its own input.

    # Parameters

    layers : `Sequence[ProjectedLstm]`
    inputs : `torch.Tensor`
        Shape `(len(layers), sum(batch_sizes), hidden_dim)`. For each layer, in the layout of
        `torch.nn.utils.rnn.PackedSequence.data`: all first words, all second words, and so on, with
        the sentences sorted by decreasing length.
    batch_sizes : `List[int]`
        The number of sentences that have a first word, a second word, and so on.

    # Returns

    `torch.Tensor`
        The states, in the shape and layout of `inputs`.
    """
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
    return apply_projected_lstm(
        inputs,
        batch_sizes,
        first.memory_cell_clip_value,
        first.state_projection_clip_value,
        getattr(first.layer_norm, "eps", None),
        first.implementation,
        *(weight for same_weights in zip(*weights) for weight in same_weights),
    )
