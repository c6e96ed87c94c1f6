from typing import Any, Callable, List, Sequence, Tuple, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.modules.kernels.implementation import check_implementation

__all__ = ["BidirectionalStack", "check_right_padding"]

_MESSAGE = (
    "A mask has padding before or between the words of a sentence, but it must follow the last "
    "word. Pad on the right, as AllenNLP's own fields do."
)


class BidirectionalStack(Seq2SeqEncoder):
    """
    A base class for contextualizers of language models: two independent stacks of layers, one for
    each direction. At every layer, a forward state depends only on the current and earlier words,
    and a backward state only on the current and later words, as a language model requires.

    Each direction projects its input to `hidden_dim` and applies `num_layers` layers, with a
    residual connection around each layer but the first.

    It is stateless: every sentence starts from a zero state.

    # Parameters

    build_layer : `Callable[[], torch.nn.Module]`
        Builds a layer of one direction. See `_run_layers` for its input and output.
    input_dim : `int`
        The dimension of the word vectors.
    hidden_dim : `int`
        The dimension of each direction's output; the output dimension is twice this.
    num_layers : `int`
    dropout : `float`
        Applied to each layer's input, but not to the residual connections.
    return_all_layers : `bool`
        Whether `forward` returns all layers or only the last one.
    implementation : `str`, optional (default = `"auto"`)
        That of the layers, to check.
    sizes : `int`
        More sizes to check.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `dropout` is not in [0, 1) or the implementation is not available.
    """

    name: str
    """The name it is registered with."""

    def __init__(
        self,
        build_layer: Callable[[], torch.nn.Module],
        input_dim: int,
        hidden_dim: int,
        num_layers: int,
        dropout: float,
        return_all_layers: bool,
        implementation: str = "auto",
        **sizes: int,
    ) -> None:
        super().__init__()
        check_implementation(self.name, implementation)
        sizes.update(input_dim=input_dim, hidden_dim=hidden_dim, num_layers=num_layers)
        for name, size in sizes.items():
            if size < 1:
                raise ConfigurationError(f"{self.name}: `{name}` is {size}; it must be at least 1.")
        if not 0 <= dropout < 1:
            raise ConfigurationError(
                f"{self.name}: `dropout` is {dropout}; it must be at least 0 and less than 1."
            )
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.return_all_layers = return_all_layers
        self.forward_input_projection = torch.nn.Linear(input_dim, hidden_dim)
        self.backward_input_projection = torch.nn.Linear(input_dim, hidden_dim)
        self.forward_layers = torch.nn.ModuleList(build_layer() for _ in range(num_layers))
        self.backward_layers = torch.nn.ModuleList(build_layer() for _ in range(num_layers))
        self.dropout = torch.nn.Dropout(dropout)

    def _run_layers(
        self, layers: Sequence[Any], inputs: torch.Tensor, batch_sizes: List[int]
    ) -> torch.Tensor:
        """
        Runs a forward and a backward layer.

        # Parameters

        layers : `Sequence[torch.nn.Module]`
        inputs : `torch.Tensor`
            Shape `(2, sum(batch_sizes), hidden_dim)`. For each layer, in the layout of
            `torch.nn.utils.rnn.PackedSequence.data`: all first words, all second words, and so on,
            with the sentences sorted by decreasing length.
        batch_sizes : `List[int]`
            The number of sentences that have a first word, a second word, and so on.

        # Returns

        `torch.Tensor`
            The states, in the shape and layout of `inputs`.
        """
        return torch.stack(
            [layer(packed, batch_sizes) for layer, packed in zip(layers, inputs.unbind(0))]
        )

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

        # Raises

        `ConfigurationError`
            If padding precedes a word.
        """
        check_right_padding(mask)
        index, batch_sizes = _pack_indices(mask)
        if mask.is_cuda:
            # Padding is processed there, and might not be a number.
            inputs = inputs.masked_fill(~mask.unsqueeze(-1), 0)
        words = inputs.flatten(0, 1)
        projections = (self.forward_input_projection, self.backward_input_projection)
        states = torch.stack(
            [project(words[indices]) for project, indices in zip(projections, index)]
        )
        layers = [states]
        for number, directions in enumerate(zip(self.forward_layers, self.backward_layers)):
            outputs = self._run_layers(directions, self.dropout(states), batch_sizes)
            states = outputs + states if number else outputs
            layers.append(states)
        if self.return_all_layers:
            return [_unpack(states, index, mask) for states in layers]
        return _unpack(states, index, mask)


def check_right_padding(mask: torch.BoolTensor) -> None:
    """
    Raises a `ConfigurationError` if a word follows padding in a mask of shape
    `(batch_size, length)`. On a GPU, for which it does not wait, PyTorch stops the run with the
    same message.
    """
    is_right = (mask[:, 1:] <= mask[:, :-1]).all()
    if mask.is_cuda:
        torch._assert_async(is_right, _MESSAGE)
    elif not is_right:
        raise ConfigurationError(_MESSAGE)


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
    # Negative ones become those of the padding.
    positions = torch.stack([steps.expand_as(mirrored), mirrored % length])
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
