from typing import Dict, Optional

import torch
from allennlp.common import Registrable
from allennlp.data import TextFieldTensors
from allennlp.modules import TextFieldEmbedder

__all__ = ["LmHead"]


class LmHead(torch.nn.Module, Registrable):
    """
    The output layer of a language model: says what there is to predict, and how wrong a context
    vector is about it. The model shifts and unpads; a head knows nothing of sentences or
    directions, and one head serves both directions.

    # Parameters

    input_dim : `int`
        The dimension of a context vector: half of a bidirectional contextualizer's output.
    """

    default_implementation = "semfit"

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.input_dim = input_dim

    def get_input_dim(self) -> int:
        """The dimension that a context vector must have."""
        return self.input_dim

    def get_target_dim(self) -> Optional[int]:
        """
        The dimension that the model's input vectors must have because they are the targets;
        `None` if they are not.
        """
        return None

    def tie_weights(self, text_field_embedder: TextFieldEmbedder) -> None:
        """
        Called once, by the model that the head becomes part of: a head that has parameters in
        common with the input finds them here.

        # Parameters

        text_field_embedder : `TextFieldEmbedder`
            The model's input.
        """

    def targets(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> torch.Tensor:
        """
        What there is to predict at each position.

        # Parameters

        source : `TextFieldTensors`
            The sentences as the indexers made them.
        input_vectors : `torch.Tensor`
            What the model's `text_field_embedder` made of them. Shape
            `(batch_size, length, embedding_dim)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, ...)`.
        """
        raise NotImplementedError

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        context : `torch.Tensor`
            Shape `(N, input_dim)`.
        targets : `torch.Tensor`
            The `N` targets. Shape `(N, ...)`.

        # Returns

        `torch.Tensor`
            The loss, summed over the `N`. A scalar.
        """
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """What the head measured since the last reset, each token weighing the same."""
        return {}
