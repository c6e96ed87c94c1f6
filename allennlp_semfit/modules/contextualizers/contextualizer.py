"""
Contextualizers of language models that do not need AllenNLP. Those that a config can name are
subclasses of AllenNLP's `Seq2SeqEncoder`, too.
"""

from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import torch

from allennlp_semfit.common.errors import check_bounds, check_choice
from allennlp_semfit.modules.kernels.implementation import IMPLEMENTATIONS
from allennlp_semfit.modules.kernels.projected_lstm import ProjectedLstm, run_in_lockstep


class Contextualizer(torch.nn.Module):
    """
    A base class for contextualizers of language models. `num_layers` does not count the input.
    `return_all_layers`, whether `forward` returns all layers or only the last one, can be changed.
    """

    max_length: Optional[int] = None
    """Longer sentences are read in windows of this length, independently of each other."""

    def __init__(
        self, input_dim: int, output_dim: int, num_layers: int, return_all_layers: bool
    ) -> None:
        super().__init__()
        sizes = {"contextualizer.input_dim": input_dim, "contextualizer.num_layers": num_layers}
        check_bounds(sizes, at_least=1)
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.num_layers = num_layers
        self.return_all_layers = return_all_layers

    def get_input_dim(self) -> int:
        return self.input_dim

    def get_output_dim(self) -> int:
        return self.output_dim

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
            The last layer, shape `(batch_size, length, output_dim)`, zero for padding. With
            `return_all_layers`, a list of `num_layers + 1` such tensors, the first of which is the
            projected input. If there are two directions, each has a half, the forward one first.
        """
        # With a shorter mask, the wrong words would be packed.
        if inputs.shape[:-1] != mask.shape:
            raise ValueError(
                f"`inputs` has the shape {tuple(inputs.shape)} and `mask` {tuple(mask.shape)}; "
                "they must be (batch_size, length, input_dim) and (batch_size, length)."
            )
        if self.max_length is None or mask.size(1) <= self.max_length:
            layers = self._run(inputs, mask)
        else:
            windows = zip(*(tensor.split(self.max_length, dim=1) for tensor in (inputs, mask)))
            parts = [self._run(*window) for window in windows]
            layers = [torch.cat(layer, dim=1) for layer in zip(*parts)]
        # Under autocast, layers may be in half precision.
        layers = [
            layer.to(torch.promote_types(layer.dtype, inputs.dtype)) * mask.unsqueeze(-1)
            for layer in (layers if self.return_all_layers else layers[-1:])
        ]
        return layers if self.return_all_layers else layers[-1]

    def _run(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> Sequence[torch.Tensor]:
        """Returns the layers for `forward`, of any type and with any values at the padding."""
        raise NotImplementedError


class BidirectionalStack(Contextualizer):
    """
    A base class for contextualizers of language models: two independent stacks of layers, one for
    each direction, with the parameters, input projections and residual connections of
    `bidirectional_language_model_lstm`.

    # Example

    For a config, subclass `RegisteredStack`, which is also a `Seq2SeqEncoder`:

    ```python
    import torch
    from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
    from torch.nn.utils.rnn import PackedSequence

    from allennlp_semfit.modules.contextualizers.recurrent import RegisteredStack


    class GruLayer(torch.nn.Module):
        def __init__(self, hidden_dim, cell_size, layer_norm):
            super().__init__()
            self.gru = torch.nn.GRU(hidden_dim, cell_size)
            self.projection = torch.nn.Linear(cell_size, hidden_dim)

        def forward(self, inputs, batch_sizes):
            packed = PackedSequence(inputs, torch.tensor(batch_sizes))
            return self.projection(self.gru(packed)[0].data)


    @Seq2SeqEncoder.register("my_gru")
    class MyGru(RegisteredStack):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self._add_layers(GruLayer)
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
        return_all_layers: bool = False,
    ) -> None:
        sizes = {"contextualizer.hidden_dim": hidden_dim, "contextualizer.cell_size": cell_size}
        check_bounds(sizes, at_least=1)
        check_bounds({"contextualizer.dropout": dropout}, at_least=0, at_most=1, but_not=1)
        super().__init__(input_dim, 2 * hidden_dim, num_layers, return_all_layers)
        self._sizes = {
            "hidden_dim": hidden_dim,
            "cell_size": cell_size,
            "layer_norm": layer_norm,
        }
        self.forward_input_projection = torch.nn.Linear(input_dim, hidden_dim)
        self.backward_input_projection = torch.nn.Linear(input_dim, hidden_dim)
        self.dropout = torch.nn.Dropout(dropout)

    def _add_layers(self, build_layer: Callable[..., torch.nn.Module], **options: Any) -> None:
        """
        Adds the layers. Subclasses call this at the end of their constructors. `build_layer` builds
        a layer of one direction from `hidden_dim`, `cell_size`, `layer_norm` and the options. The
        layer is called as `layer(inputs, batch_sizes)`, with the inputs of its direction; see
        `_run_layers`.
        """
        self.forward_layers, self.backward_layers = (
            torch.nn.ModuleList(
                build_layer(**self._sizes, **options) for _ in range(self.num_layers)
            )
            for _ in range(2)
        )

    def _run_layers(
        self, layers: Sequence[Any], inputs: torch.Tensor, batch_sizes: List[int]
    ) -> torch.Tensor:
        """
        Returns the states of a forward and a backward layer; override it to compute both together.
        Like `inputs`, the states have the shape `(2, sum(batch_sizes), hidden_dim)`, for each
        direction in the layout of `torch.nn.utils.rnn.PackedSequence.data`: all first words, all
        second words, and so on, with the sentences sorted by decreasing length. For the backward
        layer, the last word of a sentence comes first. `batch_sizes` has the numbers of sentences
        with a first word, a second word, and so on. On a GPU, padding counts as words. A layer is
        not called for a batch without words.
        """
        if not inputs.numel():
            return inputs
        return torch.stack(
            [layer(packed, batch_sizes) for layer, packed in zip(layers, inputs.unbind(0))]
        )

    def _run(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> List[torch.Tensor]:
        index, batch_sizes = _pack_indices(mask)
        if mask.is_cuda:
            # `_pack_indices` keeps the padding, which might contain NaN.
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
        returned = layers if self.return_all_layers else layers[-1:]
        return [_unpack(states, index, mask) for states in returned]


class BidirectionalLstm(BidirectionalStack):
    """The implementation of `bidirectional_language_model_lstm`, which does not need AllenNLP."""

    def __init__(
        self,
        memory_cell_clip_value: Optional[float] = 3.0,
        state_projection_clip_value: Optional[float] = 3.0,
        implementation: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("contextualizer.implementation", implementation, IMPLEMENTATIONS)
        clips = {
            "memory_cell_clip_value": memory_cell_clip_value,
            "state_projection_clip_value": state_projection_clip_value,
        }
        named = {f"contextualizer.{name}": clip for name, clip in clips.items()}
        check_bounds(named, at_least=0, but_not=0)
        self._add_layers(ProjectedLstm, **clips, implementation=implementation)

    def _run_layers(
        self, layers: Sequence[ProjectedLstm], inputs: torch.Tensor, batch_sizes: List[int]
    ) -> torch.Tensor:
        return run_in_lockstep(layers, inputs, batch_sizes)


def _pack_indices(mask: torch.BoolTensor) -> Tuple[torch.Tensor, List[int]]:
    """
    The indices that pack a flattened batch into the layout of `run_in_lockstep`, shape `(2, words)`
    for the two directions; and the number of words at each step.
    """
    num_sentences, length = mask.shape
    lengths = mask.sum(dim=1)
    steps = torch.arange(length, device=mask.device).unsqueeze(1)
    # Reading the lengths from a GPU would synchronize with it, so a GPU processes padding like
    # words. Padding follows the sentence in both directions and so does not affect its states.
    sort = not mask.is_cuda
    order = (
        lengths.argsort(descending=True)
        if sort
        else torch.arange(num_sentences, device=mask.device)
    )
    mirrored = lengths[order] - 1 - steps
    # Modulo `length`, negative positions become positions of the padding.
    positions = torch.stack([steps.expand_as(mirrored), mirrored % length])
    index = order * length + positions
    if not sort:
        return index.flatten(1), [num_sentences] * length
    is_word = mirrored >= 0
    sizes = is_word.sum(dim=1)
    return index[:, is_word], sizes[sizes > 0].tolist()


def _unpack(states: torch.Tensor, index: torch.Tensor, mask: torch.BoolTensor) -> torch.Tensor:
    """Unpacks the states and concatenates both directions."""
    halves = (
        packed.new_zeros(mask.numel(), packed.size(1)).index_copy(0, indices, packed)
        for packed, indices in zip(states, index)
    )
    return torch.cat([*halves], dim=1).view(*mask.shape, 2 * states.size(-1))
