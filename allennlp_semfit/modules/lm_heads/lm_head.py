from typing import Any, Dict, Optional

import torch
from allennlp.common import Registrable
from allennlp.data import TextFieldTensors
from allennlp.modules import TextFieldEmbedder

from allennlp_semfit.common.config_params import NamesConfigKey


class LmHead(torch.nn.Module, Registrable, NamesConfigKey):
    """
    The output layer of a language model: defines the targets and computes the loss. The model
    shifts the sentences and removes the padding, so a head gets flat lists of contexts and targets.
    Both directions share one head.

    # Parameters

    input_dim : `int`
        The dimension of a context vector: half of a bidirectional contextualizer's output.
    """

    default_implementation = "semfit"

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.input_dim = input_dim

    def get_target_dim(self) -> Optional[int]:
        """The dimension of the targets, or `None` if they are not the model's input vectors."""
        return None

    def tie_weights(self, text_field_embedder: TextFieldEmbedder) -> None:
        """
        Shares parameters with the model's input, if the head does so. The model's constructor calls
        this method once.
        """

    def prepare_targets(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> Any:
        """
        Returns the target at each position.

        # Parameters

        source : `TextFieldTensors`
            The indexed sentences.
        input_vectors : `torch.Tensor`
            The output of the model's `text_field_embedder`. Shape
            `(batch_size, length, embedding_dim)`.

        # Returns

        `Any`
            A tensor of shape `(batch_size, length, ...)`, or an object that is indexed like one.
        """
        raise NotImplementedError

    def forward(self, context: torch.Tensor, targets: Any) -> torch.Tensor:
        """
        # Parameters

        context : `torch.Tensor`
            Shape `(N, input_dim)`.
        targets : `Any`
            `N` of the targets that `prepare_targets` returned: a tensor of shape `(N, ...)`.

        # Returns

        `torch.Tensor`
            The sum of the `N` losses. A scalar.
        """
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """The metrics since the last reset, averaged over tokens."""
        return {}
