"""The recurrent contextualizers that a config can name."""

import math
from typing import Any, List

import torch
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.modules.contextualizers.contextualizer import (
    BidirectionalLstm,
    BidirectionalStack,
)


class RegisteredStack(BidirectionalStack, Seq2SeqEncoder, NamesConfigKey):
    """
    A base class for stacks that a config can name. AllenNLP finds the parameters that a subclass
    passes on as `**kwargs` only in a base class with `from_params`.
    """


@Seq2SeqEncoder.register("bidirectional_language_model_lstm")
class BidirectionalLanguageModelLstm(BidirectionalLstm, RegisteredStack):
    """
    Two independent stacks of projected LSTMs, one for each direction. At every layer, a forward
    state depends only on the current and earlier words, and a backward state only on the current
    and later words, as a language model requires.

    It is the contextualizer of ELMo (Peters et al. 2018, "Deep contextualized word
    representations") with the layer normalization of Li et al. 2019, section 5.1. Each direction
    projects its input to `hidden_dim` and applies `num_layers` LSTM layers whose state is projected
    to `hidden_dim` too, with a residual connection around each layer but the first.

    It is stateless: every sentence starts from a zero state.

    At the start of training, an LSTM with few cells, such as 256, is chaotic with `layer_norm`:
    after a few hundred words, the rounding errors of a state are as large as the state, and
    gradients are huge. Bound them with `trainer.grad_norm` for the first few hundred steps, or
    start with a smaller layer norm weight, which trains equally well: set the model's `initializer`
    to `{"regexes": [["layer_norm.weight", {"type": "constant", "val": 0.5}]]}`.

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_lstm".

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    hidden_dim : `int`
        The dimension of each direction's output; the output dimension is twice this.
    cell_size : `int`
        The number of memory cells in each direction of each layer.
    num_layers : `int`, optional (default = `2`)
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalization to each layer's state, inside the recurrence.
    dropout : `float`, optional (default = `0.0`)
        Applied to each layer's input, but not to the residual connections.
    memory_cell_clip_value : `float`, optional (default = `3.0`)
        The maximum magnitude of the cell state; `null` for no clipping.
    state_projection_clip_value : `float`, optional (default = `3.0`)
        The maximum magnitude of the projected state; `null` for no clipping.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.
    implementation : `str`, optional (default = `"auto"`)
        What computes the operations between the matrix products: `"native"` are CPU kernels,
        `"triton"` GPU kernels and `"torch"` PyTorch's operations. `"auto"` is the fastest that is
        available.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `dropout` is not in [0, 1) or a clip value is not positive; at the
        first batch, if the implementation is not available.

    # Example

    ```json
    "contextualizer": {
        "type": "bidirectional_language_model_lstm",
        "input_dim": 300,
        "hidden_dim": 512,
        "cell_size": 4096,
        "num_layers": 2,
        "dropout": 0.1
    }
    ```
    """


@Seq2SeqEncoder.register("bidirectional_language_model_sru")
class BidirectionalLanguageModelSru(RegisteredStack):
    """
    Two independent stacks of SRUs (Lei et al. 2018, "Simple Recurrent Units for Highly
    Parallelizable Recurrence", equations 1 to 7), one for each direction. An SRU has no recurrent
    matrix: all its matrix products are computed for all words at once. The highway connection has
    a matrix of its own, because `cell_size` can differ from `hidden_dim`.

    Input projections and residual connections are those of `bidirectional_language_model_lstm`.

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_sru".

    # Parameters

    input_dim, hidden_dim, cell_size, dropout, return_all_layers
        See `bidirectional_language_model_lstm`, also for its errors.
    num_layers : `int`, optional (default = `4`)
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalization to each layer's output.

    # Example

    ```json
    "contextualizer": {
        "type": "bidirectional_language_model_sru",
        "input_dim": 300, "hidden_dim": 512, "cell_size": 4096, "dropout": 0.1
    }
    ```
    """

    def __init__(self, num_layers: int = 4, **kwargs: Any) -> None:
        super().__init__(num_layers=num_layers, **kwargs)
        self._add_layers(ElementwiseRecurrentLayer, is_sru=True)


@Seq2SeqEncoder.register("bidirectional_language_model_qrnn")
class BidirectionalLanguageModelQrnn(RegisteredStack):
    """
    Two independent stacks of QRNNs with fo-pooling (Bradbury et al. 2017, "Quasi-Recurrent Neural
    Networks", equation 4), one for each direction. A QRNN has no recurrent matrix: its gates are
    convolutions over the previous and the current word, computed for all words at once.

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_qrnn".

    # Parameters

    input_dim, hidden_dim, cell_size, layer_norm, num_layers, dropout, return_all_layers
        See `bidirectional_language_model_sru`, but `num_layers` is 2 by default.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._add_layers(ElementwiseRecurrentLayer, is_sru=False)


class ElementwiseRecurrentLayer(torch.nn.Module):
    """
    A unidirectional SRU or QRNN. Only operations on single elements depend on the previous word.
    With the gates `(z, f, o, x)` of a word before activation and the cell state `c'` of the
    previous word,

        f = sigmoid(f + v_f c')    o = sigmoid(o + v_o c')
        c = f c' + (1 - f) z       h = o c + (1 - o) x

    The output `h` is projected and normalized. In a QRNN, the peepholes `v_f` and `v_o` and the
    highway connection `x` are zero, and `z` is a tanh.
    """

    def __init__(self, hidden_dim: int, cell_size: int, layer_norm: bool, is_sru: bool) -> None:
        super().__init__()
        self.cell_size = cell_size
        in_features, num_gates = (hidden_dim, 4) if is_sru else (2 * hidden_dim, 3)
        self.input_linearity = torch.nn.Linear(in_features, num_gates * cell_size)
        self.peepholes = torch.nn.Parameter(torch.zeros(2, cell_size)) if is_sru else None
        self.state_projection = torch.nn.Linear(cell_size, hidden_dim, bias=False)
        self.layer_norm = torch.nn.LayerNorm(hidden_dim) if layer_norm else torch.nn.Identity()
        # Uniform weights of variance 1 / fan_in (Lei et al. 2018, section 3.2), and a forget gate
        # bias of 1.
        for linearity in (self.input_linearity, self.state_projection):
            bound = math.sqrt(3 / linearity.in_features)
            torch.nn.init.uniform_(linearity.weight, -bound, bound)
        bias = self.input_linearity.bias.data
        bias.zero_()
        bias[cell_size : 2 * cell_size] = 1.0

    def forward(self, inputs: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
        """
        The states for inputs of shape `(sum(batch_sizes), hidden_dim)`, both in the layout of
        `torch.nn.utils.rnn.PackedSequence.data`.
        """
        if self.peepholes is None:
            inputs = torch.cat([inputs, _previous_words(inputs, batch_sizes)], dim=-1)
        gates = self.input_linearity(inputs)
        # Under autocast, a sum of states in half precision would lose digits at every word and at
        # every layer.
        dtype = torch.promote_types(gates.dtype, torch.float32)
        z, f, o, *highway = gates.to(dtype).split(self.cell_size, dim=1)
        if self.peepholes is None:
            hidden = o.sigmoid() * self._cell_states(z.tanh(), f, batch_sizes)
        else:
            states = self._cell_states(z, f, batch_sizes)
            o = o + self.peepholes[1] * _previous_words(states, batch_sizes)
            hidden = torch.lerp(highway[0], states, o.sigmoid())
        projected = self.state_projection(hidden.to(gates.dtype))
        return self.layer_norm(projected.to(self.state_projection.weight.dtype))

    def _cell_states(
        self, z: torch.Tensor, f: torch.Tensor, batch_sizes: List[int]
    ) -> torch.Tensor:
        """The cell states, given the candidates and the forget gates before activation."""
        state = z.new_zeros(batch_sizes[0], self.cell_size)
        states = [state[:0]]
        for candidate, forget in zip(z.split(batch_sizes), f.split(batch_sizes)):
            state = state[: len(candidate)]
            if self.peepholes is not None:
                forget = forget + self.peepholes[0] * state
            state = torch.lerp(candidate, state, forget.sigmoid())
            states.append(state)
        return torch.cat(states)


def _previous_words(words: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
    """The word before each word; zeros before the first."""
    steps = words.split(batch_sizes)
    previous = [step[:size] for step, size in zip(steps, batch_sizes[1:])]
    return torch.cat([torch.zeros_like(words[: batch_sizes[0]]), *previous])
