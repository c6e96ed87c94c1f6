from typing import List, Optional, Sequence, Union

import torch

from allennlp_semfit.common.errors import check_bounds


class Contextualizer(torch.nn.Module):
    """
    A base class for contextualizers of language models. Those that a config can name are subclasses
    of AllenNLP's `Seq2SeqEncoder`, too.

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    output_dim : `int`
        The dimension of the states.
    num_layers : `int`
        The number of layers, not counting the input.
    return_all_layers : `bool`
        Whether `forward` returns all layers or only the last one. The attribute can be set.

    # Raises

    `ConfigurationError`
        If a size is less than 1.
    """

    max_length: Optional[int] = None
    """The length of the windows in which longer sentences are read, each without the others."""

    @staticmethod
    def check_sizes(**sizes: int) -> None:
        """Raises a `ConfigurationError` with its key in a config if a size is less than 1."""
        named = {f"contextualizer.{name}": size for name, size in sizes.items()}
        check_bounds(named, at_least=1)

    def __init__(
        self, input_dim: int, output_dim: int, num_layers: int, return_all_layers: bool
    ) -> None:
        super().__init__()
        self.check_sizes(input_dim=input_dim, output_dim=output_dim, num_layers=num_layers)
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
