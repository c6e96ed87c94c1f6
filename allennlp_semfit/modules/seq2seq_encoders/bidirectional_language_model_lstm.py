from typing import List, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn.initializers import block_orthogonal
from torch.nn.functional import linear

__all__ = ["BidirectionalLanguageModelLstm", "ProjectedLstm"]


@Seq2SeqEncoder.register("bidirectional_language_model_lstm")
class BidirectionalLanguageModelLstm(Seq2SeqEncoder):
    """
    Two stacks of LSTMs with projection, one reading forwards and one backwards, that never see
    each other: at no layer does a forward state depend on a later word, or a backward state on an
    earlier one, which is what a language model must be able to rely on.

    It is ELMo's contextualizer (Peters et al. 2018, "Deep contextualized word representations")
    with layer normalisation, as section 5.1 of Li et al. 2019 changes it. Each direction projects
    its input to `hidden_dim`; then come `num_layers` of [`ProjectedLstm`](#projectedlstm), with a
    residual connection around every layer but the first.

    Sentences are independent: no state is carried from one batch to the next.

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_lstm".

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    hidden_dim : `int`
        The dimension of each direction's output; the encoder's is twice that.
    cell_size : `int`
        The number of memory cells in each direction of each layer.
    num_layers : `int`, optional (default = `2`)
    layer_norm : `bool`, optional (default = `True`)
        Whether to normalise each layer's state, inside the recurrence.
    dropout : `float`, optional (default = `0.0`)
        The probability of dropping an element of a layer's input. Residual connections are spared.
    memory_cell_clip_value : `float`, optional (default = `3.0`)
        The largest magnitude of a memory cell; `null` for no bound.
    state_projection_clip_value : `float`, optional (default = `3.0`)
        The largest magnitude of an element of the projected state; `null` for no bound.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns every layer or the last one only.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `dropout` is no probability or a clip value is not positive.

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

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        cell_size: int,
        num_layers: int = 2,
        layer_norm: bool = True,
        dropout: float = 0.0,
        memory_cell_clip_value: float = 3.0,
        state_projection_clip_value: float = 3.0,
        return_all_layers: bool = False,
    ) -> None:
        super().__init__()
        sizes = {
            "input_dim": input_dim,
            "hidden_dim": hidden_dim,
            "cell_size": cell_size,
            "num_layers": num_layers,
        }
        for name, size in sizes.items():
            if size < 1:
                raise ConfigurationError(
                    f"bidirectional_language_model_lstm: `{name}` is {size}; it takes 1 or more."
                )
        if not 0 <= dropout < 1:
            raise ConfigurationError(
                f"bidirectional_language_model_lstm: `dropout` is {dropout}; it takes 0 or more "
                "and less than 1."
            )
        for name, clip in (
            ("memory_cell_clip_value", memory_cell_clip_value),
            ("state_projection_clip_value", state_projection_clip_value),
        ):
            if clip is not None and clip <= 0:
                raise ConfigurationError(
                    f"bidirectional_language_model_lstm: `{name}` is {clip}; it takes more than 0, "
                    "or null for no bound."
                )
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.return_all_layers = return_all_layers

        def stack() -> torch.nn.ModuleList:
            return torch.nn.ModuleList(
                ProjectedLstm(
                    hidden_dim,
                    cell_size,
                    layer_norm,
                    memory_cell_clip_value,
                    state_projection_clip_value,
                )
                for _ in range(num_layers)
            )

        self.forward_input_projection = torch.nn.Linear(input_dim, hidden_dim)
        self.backward_input_projection = torch.nn.Linear(input_dim, hidden_dim)
        self.forward_layers = stack()
        self.backward_layers = stack()
        self.dropout = torch.nn.Dropout(dropout)

    def get_input_dim(self) -> int:
        return self.input_dim

    def get_output_dim(self) -> int:
        return 2 * self.hidden_dim

    def is_bidirectional(self) -> bool:
        return True

    def forward(
        self, inputs: torch.Tensor, mask: torch.BoolTensor
    ) -> Union[torch.Tensor, List[torch.Tensor]]:
        """
        # Parameters

        inputs : `torch.Tensor`
            Shape `(batch_size, length, input_dim)`.
        mask : `torch.BoolTensor`
            Shape `(batch_size, length)`, with the padding on the right.

        # Returns

        `Union[torch.Tensor, List[torch.Tensor]]`
            The last layer, shape `(batch_size, length, 2 * hidden_dim)`: the forward half, then
            the backward half; zero where padded. With `return_all_layers`, a list of
            `num_layers + 1` such tensors, the first of which is the projected input.
        """
        # Reading backwards is reading the reversed sentence. Padding stays on the right, where
        # what is computed from it reaches no word.
        reversal = _reversal(mask)
        forward_states = self._read(inputs, self.forward_input_projection, self.forward_layers)
        backward_states = self._read(
            _permute(inputs, reversal), self.backward_input_projection, self.backward_layers
        )
        if not self.return_all_layers:
            forward_states, backward_states = forward_states[-1:], backward_states[-1:]
        layers = [
            torch.cat([ahead, _permute(behind, reversal)], dim=-1) * mask.unsqueeze(-1)
            for ahead, behind in zip(forward_states, backward_states)
        ]
        return layers if self.return_all_layers else layers[-1]

    def _read(
        self, inputs: torch.Tensor, projection: torch.nn.Linear, layers: torch.nn.ModuleList
    ) -> List[torch.Tensor]:
        """The states of all layers of one direction, the projected input first."""
        states = [projection(inputs)]
        for index, layer in enumerate(layers):
            output = layer(self.dropout(states[-1]))
            states.append(output + states[-1] if index else output)
        return states


class ProjectedLstm(torch.nn.Module):
    """
    One LSTM layer with a projected state (Sak et al. 2014, "Long Short-Term Memory Recurrent
    Neural Network Architectures for Large Scale Acoustic Modeling"), reading from left to right.
    At each step the memory is clipped, the output projected and clipped, then normalised
    (Ba et al. 2016, "Layer Normalization"); that is the step's output and the next one's state.

    Without the layer norm it is AllenNLP's `LstmCellWithProjection`, with the same names and
    layout of weights, gates in the order input, forget, memory, output.

    # Parameters

    hidden_dim : `int`
        The dimension of the input, the state and the output.
    cell_size : `int`
        The number of memory cells.
    layer_norm : `bool`
    memory_cell_clip_value : `float`
        `None` for no bound.
    state_projection_clip_value : `float`
        `None` for no bound.
    """

    def __init__(
        self,
        hidden_dim: int,
        cell_size: int,
        layer_norm: bool,
        memory_cell_clip_value: float,
        state_projection_clip_value: float,
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
        # The input's share of all gates, at all steps at once.
        shares = linear(
            inputs.transpose(0, 1), self.input_linearity.weight, self.state_linearity.bias
        )
        state = shares.new_zeros(inputs.size(0), self.hidden_dim)
        memory = shares.new_zeros(inputs.size(0), self.cell_size)
        outputs = []
        for share in shares.unbind(0):
            gates = share + linear(state, self.state_linearity.weight)
            input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
            memory = forget_gate.sigmoid() * memory + input_gate.sigmoid() * candidate.tanh()
            memory = _clip(memory, self.memory_cell_clip_value)
            state = self.state_projection(output_gate.sigmoid() * memory.tanh())
            state = self.layer_norm(_clip(state, self.state_projection_clip_value))
            outputs.append(state)
        return torch.stack(outputs, dim=1)


def _clip(tensor: torch.Tensor, bound: float) -> torch.Tensor:
    return tensor if bound is None else tensor.clamp(-bound, bound)


def _reversal(mask: torch.BoolTensor) -> torch.Tensor:
    """
    The permutation of positions that reverses each sentence and leaves its padding where it is;
    it is its own inverse. Shape `(batch_size, length, 1)`.
    """
    positions = torch.arange(mask.size(1), device=mask.device)
    mirrored = mask.sum(dim=1, keepdim=True) - 1 - positions
    return torch.where(mirrored >= 0, mirrored, positions).unsqueeze(-1)


def _permute(tensor: torch.Tensor, permutation: torch.Tensor) -> torch.Tensor:
    return tensor.gather(1, permutation.expand_as(tensor))
