import math
from typing import Any, List

import torch
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.modules.contextualizers.registered_stack import RegisteredStack


@Seq2SeqEncoder.register("bidirectional_language_model_sru")
class BidirectionalLanguageModelSru(RegisteredStack):
    """
    Two independent stacks of SRUs (Lei et al. 2018, "Simple Recurrent Units for Highly
    Parallelizable Recurrence"), one for each direction. An SRU has no recurrent matrix: all its
    matrix products are computed for all words at once.

    The layers are those of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_sru".

    # Parameters

    input_dim, hidden_dim, cell_size, dropout, return_all_layers
        See `bidirectional_language_model_lstm`.
    num_layers : `int`, optional (default = `4`)
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalization to each layer's output.

    # Raises

    `ConfigurationError`
        If a size is less than 1 or `dropout` is not in [0, 1).

    # Example

    ```json
    "contextualizer": {
        "type": "bidirectional_language_model_sru",
        "input_dim": 300,
        "hidden_dim": 512,
        "cell_size": 4096,
        "num_layers": 4,
        "dropout": 0.1
    }
    ```
    """

    def __init__(self, num_layers: int = 4, **kwargs: Any) -> None:
        super().__init__(num_layers=num_layers, **kwargs)
        self._add_layers(ElementwiseRecurrentLayer, window_size=1, peepholes=True)


@Seq2SeqEncoder.register("bidirectional_language_model_qrnn")
class BidirectionalLanguageModelQrnn(RegisteredStack):
    """
    Two independent stacks of QRNNs with fo-pooling (Bradbury et al. 2017, "Quasi-Recurrent Neural
    Networks"), one for each direction. A QRNN has no recurrent matrix: its gates are convolutions
    over the last `window_size` words, computed for all words at once.

    The layers are those of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_qrnn".

    # Parameters

    input_dim, hidden_dim, cell_size, num_layers, dropout, return_all_layers
        See `bidirectional_language_model_lstm`.
    layer_norm
        See `bidirectional_language_model_sru`.
    window_size : `int`, optional (default = `2`)
        The number of words, up to the current one, that the gates depend on directly.

    # Raises

    `ConfigurationError`
        If a size is less than 1 or `dropout` is not in [0, 1).

    # Example

    ```json
    "contextualizer": {
        "type": "bidirectional_language_model_qrnn",
        "input_dim": 300,
        "hidden_dim": 512,
        "cell_size": 4096,
        "num_layers": 2,
        "dropout": 0.1
    }
    ```
    """

    def __init__(self, window_size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check_sizes(window_size=window_size)
        self._add_layers(ElementwiseRecurrentLayer, window_size=window_size, peepholes=False)


class ElementwiseRecurrentLayer(torch.nn.Module):
    """
    A unidirectional recurrent layer without a recurrent matrix. The gates of all words are one
    matrix product; only operations on single elements depend on the previous word. With the gates
    `(z, f, o, x)` of a word before activation and the cell state `c'` of the previous word,

        f = sigmoid(f + v_f c')    o = sigmoid(o + v_o c')
        c = f c' + (1 - f) z       h = o c + (1 - o) x

    The output `h` is projected and normalized.

    With `peepholes`, `v_f` and `v_o`, it is an SRU (Lei et al. 2018, "Simple Recurrent Units for
    Highly Parallelizable Recurrence", equations 1 to 7) whose highway connection `x` has a matrix
    of its own, because `cell_size` can differ from `hidden_dim`. Without, `v_f`, `v_o` and `x` are
    zero and `z` is a tanh; with a window of two words, it is a QRNN with fo-pooling (Bradbury et
    al. 2017, "Quasi-Recurrent Neural Networks", equation 4).

    # Parameters

    hidden_dim : `int`
        The dimension of the input and the output.
    cell_size : `int`
        The number of memory cells.
    layer_norm : `bool`
        Whether to normalize the output.
    window_size : `int`
        The number of words, up to the current one, that the gates depend on directly.
    peepholes : `bool`
        Whether it is an SRU.
    """

    def __init__(
        self, hidden_dim: int, cell_size: int, layer_norm: bool, window_size: int, peepholes: bool
    ) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.cell_size = cell_size
        self.window_size = window_size
        num_gates = 4 if peepholes else 3
        self.input_linearity = torch.nn.Linear(window_size * hidden_dim, num_gates * cell_size)
        self.peepholes = torch.nn.Parameter(torch.zeros(2, cell_size)) if peepholes else None
        self.state_projection = torch.nn.Linear(cell_size, hidden_dim, bias=False)
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
        gates = self.input_linearity(torch.cat(window, dim=-1) if len(window) > 1 else inputs)
        # Under autocast, a sum of states in half precision would lose digits at every word and at
        # every layer.
        dtype = torch.promote_types(gates.dtype, torch.float32)
        z, f, o, *highway = gates.to(dtype).split(self.cell_size, dim=1)
        if self.peepholes is None:
            states = self._cell_states(z.tanh(), f, batch_sizes)
            hidden = o.sigmoid() * states
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
        state = z.new_zeros(batch_sizes[0] if batch_sizes else 0, self.cell_size)
        states = [state[:0]]
        for candidate, forget in zip(z.split(batch_sizes), f.split(batch_sizes)):
            state = state[: len(candidate)]
            if self.peepholes is not None:
                forget = forget + self.peepholes[0] * state
            state = torch.lerp(candidate, state, forget.sigmoid())
            states.append(state)
        return torch.cat(states)


def _previous_words(words: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
    """The word before each; zeros before the first."""
    if not batch_sizes:
        return words
    steps = words.split(batch_sizes)
    previous = [step[:size] for step, size in zip(steps, batch_sizes[1:])]
    return torch.cat([torch.zeros_like(steps[0]), *previous])
