from typing import List, Optional, Sequence

import torch
from allennlp.nn.initializers import block_orthogonal

from allennlp_semfit.modules.projected_lstm.function import ProjectedLstmFunction

__all__ = ["ProjectedLstm", "run_in_lockstep"]


class ProjectedLstm(torch.nn.Module):
    """
    One LSTM layer with a projected state (Sak et al. 2014, "Long Short-Term Memory Recurrent
    Neural Network Architectures for Large Scale Acoustic Modeling"), reading from left to right.
    At each step the cell state is clipped, the output projected and clipped, then normalised
    (Ba et al. 2016, "Layer Normalization"); that is the step's output and the next one's state.

    Without the layer norm it is AllenNLP's `LstmCellWithProjection`, with the same names and
    layout of weights, gates in the order input, forget, candidate, output.

    # Parameters

    hidden_dim : `int`
        The dimension of the input, the state and the output.
    cell_size : `int`
        The number of memory cells.
    layer_norm : `bool`
    memory_cell_clip_value : `float`
        `None` for no clipping.
    state_projection_clip_value : `float`
        `None` for no clipping.
    """

    def __init__(
        self,
        hidden_dim: int,
        cell_size: int,
        layer_norm: bool,
        memory_cell_clip_value: Optional[float],
        state_projection_clip_value: Optional[float],
    ) -> None:
        super().__init__()
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
        """Orthogonal weights, and forget gates that start open, as `LstmCellWithProjection`."""
        for linearity in (self.input_linearity, self.state_linearity):
            block_orthogonal(linearity.weight.data, [self.cell_size, self.hidden_dim])
        self.state_linearity.bias.data.fill_(0.0)
        self.state_linearity.bias.data[self.cell_size : 2 * self.cell_size].fill_(1.0)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        inputs : `torch.Tensor`
            Shape `(batch_size, length, hidden_dim)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, hidden_dim)`.
        """
        batch_size, length, hidden_dim = inputs.shape
        by_step = inputs.transpose(0, 1).reshape(1, length * batch_size, hidden_dim)
        (outputs,) = run_in_lockstep([self], by_step, [batch_size] * length)
        return outputs.view(length, batch_size, hidden_dim).transpose(0, 1)


def run_in_lockstep(
    layers: Sequence[ProjectedLstm], inputs: torch.Tensor, batch_sizes: List[int]
) -> torch.Tensor:
    """
    Several layers of the same sizes, each reading an input of its own, step by step side by side.

    # Parameters

    layers : `Sequence[ProjectedLstm]`
    inputs : `torch.Tensor`
        Shape `(len(layers), sum(batch_sizes), hidden_dim)`: first the first words of all
        sentences, then the second words of those that have one, and so on, the longest sentences
        first (the layout of `torch.nn.utils.rnn.PackedSequence.data`).
    batch_sizes : `List[int]`
        The number of sentences that have a first word, a second, and so on.

    # Returns

    `torch.Tensor`
        The states, of the shape and in the layout of `inputs`.
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
    return ProjectedLstmFunction.apply(
        inputs,
        batch_sizes,
        first.memory_cell_clip_value,
        first.state_projection_clip_value,
        getattr(first.layer_norm, "eps", None),
        *(weight for kind in zip(*weights) for weight in kind),
    )
