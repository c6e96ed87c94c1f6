from typing import List, Tuple, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.modules.projected_lstm.layer import ProjectedLstm, run_in_lockstep

__all__ = ["BidirectionalLanguageModelLstm"]


@Seq2SeqEncoder.register("bidirectional_language_model_lstm")
class BidirectionalLanguageModelLstm(Seq2SeqEncoder):
    """
    Two independent stacks of projected LSTMs, one for each direction. At every layer, a forward
    state depends only on the current and earlier words, and a backward state only on the current
    and later words, as a language model requires.

    It is the contextualizer of ELMo (Peters et al. 2018, "Deep contextualized word
    representations") with the layer normalisation of Li et al. 2019, section 5.1. Each direction
    projects its input to `hidden_dim` and applies `num_layers` layers of
    [`ProjectedLstm`](../projected_lstm/layer#projectedlstm), with a residual connection around each
    layer but the first.

    It is stateless: every sentence starts from a zero state.

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
        Whether to apply layer normalisation to each layer's state, inside the recurrence.
    dropout : `float`, optional (default = `0.0`)
        Applied to each layer's input, but not to the residual connections.
    memory_cell_clip_value : `float`, optional (default = `3.0`)
        The maximum magnitude of the cell state; `null` for no clipping.
    state_projection_clip_value : `float`, optional (default = `3.0`)
        The maximum magnitude of the projected state; `null` for no clipping.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `dropout` is not in [0, 1) or a clip value is not positive.

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
                    f"bidirectional_language_model_lstm: `{name}` is {size}; it must be at least 1."
                )
        if not 0 <= dropout < 1:
            raise ConfigurationError(
                f"bidirectional_language_model_lstm: `dropout` is {dropout}; it must be at least 0 "
                "and less than 1."
            )
        for name, clip in (
            ("memory_cell_clip_value", memory_cell_clip_value),
            ("state_projection_clip_value", state_projection_clip_value),
        ):
            if clip is not None and clip <= 0:
                raise ConfigurationError(
                    f"bidirectional_language_model_lstm: `{name}` is {clip}; it must be greater "
                    "than 0, or null for no clipping."
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
            Shape `(batch_size, length)`. The padding must be on the right.

        # Returns

        `Union[torch.Tensor, List[torch.Tensor]]`
            The last layer, shape `(batch_size, length, 2 * hidden_dim)`: the forward half, then
            the backward half; zero for padding. With `return_all_layers`, a list of
            `num_layers + 1` such tensors, the first of which is the projected input.
        """
        index, batch_sizes = _pack_indices(mask)
        words = inputs.flatten(0, 1)
        projections = (self.forward_input_projection, self.backward_input_projection)
        states = torch.stack(
            [project(words[indices]) for project, indices in zip(projections, index)]
        )
        layers = [states]
        for number, directions in enumerate(zip(self.forward_layers, self.backward_layers)):
            outputs = run_in_lockstep(directions, self.dropout(states), batch_sizes)  # type: ignore[arg-type]
            states = outputs + states if number else outputs
            layers.append(states)
        if self.return_all_layers:
            return [_unpack(states, index, mask) for states in layers]
        return _unpack(states, index, mask)


def _pack_indices(mask: torch.BoolTensor) -> Tuple[torch.Tensor, List[int]]:
    """
    The indices that pack a flattened batch into the layout of `run_in_lockstep`, shape `(2, words)`
    for the two directions; and the number of words at each step.
    """
    num_sentences, length = mask.shape
    lengths = mask.sum(dim=1)
    steps = torch.arange(length, device=mask.device).unsqueeze(1)
    # Reading the lengths from a GPU would wait for it, so padding is processed like words there. It
    # follows the sentence in both directions, so it does not affect the words' states.
    sort = not mask.is_cuda
    order = (
        lengths.argsort(descending=True)
        if sort
        else torch.arange(num_sentences, device=mask.device)
    )
    mirrored = lengths[order] - 1 - steps
    positions = torch.stack(
        [steps.expand_as(mirrored), torch.where(mirrored >= 0, mirrored, steps)]
    )
    index = order * length + positions
    if not sort:
        return index.flatten(1), [num_sentences] * length
    is_word = mirrored >= 0
    return index[:, is_word], [size for size in is_word.sum(dim=1).tolist() if size]


def _unpack(states: torch.Tensor, index: torch.Tensor, mask: torch.BoolTensor) -> torch.Tensor:
    """Unpacks the states and concatenates both directions; zero for padding."""
    forward_states, backward_states = (
        packed.new_zeros(mask.numel(), packed.size(1)).index_copy(0, indices, packed)
        for packed, indices in zip(states, index)
    )
    return torch.cat([forward_states, backward_states], dim=1).view(
        *mask.shape, 2 * states.size(-1)
    ) * mask.unsqueeze(-1)
