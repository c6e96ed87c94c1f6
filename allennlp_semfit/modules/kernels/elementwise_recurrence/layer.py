import math
from typing import List

import torch

from allennlp_semfit.modules.kernels.elementwise_recurrence.function import (
    apply_elementwise_recurrence,
)
from allennlp_semfit.modules.kernels.products import Linear

__all__ = ["ElementwiseRecurrentLayer"]


class ElementwiseRecurrentLayer(torch.nn.Module):
    """
    A unidirectional recurrent layer without a recurrent matrix. The gates of all words are one
    matrix product; only operations on single elements depend on the previous word. The output is
    projected and normalised.

    With `highway` and `peepholes`, it is an SRU (Lei et al. 2018, "Simple Recurrent Units for
    Highly Parallelizable Recurrence", equations 1 to 7) whose highway connection has a matrix of
    its own, because `cell_size` can differ from `hidden_dim`. With a window of two words and
    `tanh_candidate`, it is a QRNN with fo-pooling (Bradbury et al. 2017, "Quasi-Recurrent Neural
    Networks", equation 4).

    # Parameters

    hidden_dim : `int`
        The dimension of the input and the output.
    cell_size : `int`
        The number of memory cells.
    window_size : `int`
        The number of words, up to the current one, that the gates depend on directly.
    tanh_candidate : `bool`
        Whether the candidate is a tanh.
    highway : `bool`
        Whether the output gate mixes the cell state with a linear function of the input.
    peepholes : `bool`
        Whether the gates depend on the previous cell state, cell by cell.
    layer_norm : `bool`
        Whether to normalise the output.
    implementation : `str`, optional (default = `"auto"`)
        See [`choose_implementation`](../../implementation#choose_implementation).
    """

    def __init__(
        self,
        hidden_dim: int,
        cell_size: int,
        window_size: int,
        tanh_candidate: bool,
        highway: bool,
        peepholes: bool,
        layer_norm: bool,
        implementation: str = "auto",
    ) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.cell_size = cell_size
        self.window_size = window_size
        self.tanh_candidate = tanh_candidate
        self.highway = highway
        self.implementation = implementation
        self.input_linearity = Linear(window_size * hidden_dim, (4 if highway else 3) * cell_size)
        self.peepholes = torch.nn.Parameter(torch.zeros(2, cell_size)) if peepholes else None
        self.state_projection = Linear(cell_size, hidden_dim, bias=False)
        self.layer_norm = torch.nn.LayerNorm(hidden_dim) if layer_norm else torch.nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """
        Uniform weights of variance `1 / fan_in` (Lei et al. 2018, section 3.2) and a forget gate
        bias of 1. The peepholes have no effect at first.
        """
        for linearity in (self.input_linearity, self.state_projection):
            bound = math.sqrt(3 / linearity.in_features)
            torch.nn.init.uniform_(linearity.weight, -bound, bound)
        bias = self.input_linearity.bias.data
        bias.zero_()
        bias[self.cell_size : 2 * self.cell_size] = 1.0
        if self.peepholes is not None:
            torch.nn.init.zeros_(self.peepholes)

    def forward(self, inputs: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
        """
        # Parameters

        inputs : `torch.Tensor`
            Shape `(sum(batch_sizes), hidden_dim)`, in the layout of
            `torch.nn.utils.rnn.PackedSequence.data`.
        batch_sizes : `List[int]`

        # Returns

        `torch.Tensor`
            The states, in the shape and layout of `inputs`.
        """
        window = [inputs]
        while len(window) < self.window_size:
            window.append(_previous_words(window[-1], batch_sizes))
        hidden = apply_elementwise_recurrence(
            self.input_linearity(torch.cat(window, dim=-1) if len(window) > 1 else inputs),
            self.peepholes,
            batch_sizes,
            self.tanh_candidate,
            self.highway,
            self.implementation,
        )
        projected = self.state_projection(hidden)
        # Under autocast, a sum of states in half precision would lose digits at every layer.
        return self.layer_norm(projected.to(self.state_projection.weight.dtype))


def _previous_words(words: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
    """The word before each; zeros before the first."""
    if not batch_sizes:
        return words
    steps = words.split(batch_sizes)
    previous = [step[:size] for step, size in zip(steps, batch_sizes[1:])]
    return torch.cat([torch.zeros_like(steps[0]), *previous])
