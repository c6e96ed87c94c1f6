from typing import List

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from torch.nn.utils.rnn import PackedSequence

from allennlp_semfit.modules.contextualizers.bidirectional_stack import BidirectionalStack

__all__ = ["BidirectionalLanguageModelTorchLstm"]


@Seq2SeqEncoder.register("bidirectional_language_model_torch_lstm")
class BidirectionalLanguageModelTorchLstm(BidirectionalStack):
    """
    Two independent stacks of `torch.nn.LSTM` with `proj_size`, one for each direction: cuDNN's LSTM
    on a GPU. In contrast to `bidirectional_language_model_lstm`, nothing is clipped, and the layer
    norm is outside of the recurrence.

    It has the layers of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_torch_lstm".

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    hidden_dim : `int`
        The dimension of each direction's output; the output dimension is twice this.
    cell_size : `int`
        The number of memory cells in each direction of each layer, more than `hidden_dim`.
    num_layers : `int`, optional (default = `2`)
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalisation to each layer's output.
    dropout : `float`, optional (default = `0.0`)
        Applied to each layer's input, but not to the residual connections.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `cell_size` is not more than `hidden_dim` or `dropout` is not in
        [0, 1).

    # Example

    ```json
    "contextualizer": {
        "type": "bidirectional_language_model_torch_lstm",
        "input_dim": 300,
        "hidden_dim": 512,
        "cell_size": 4096,
        "num_layers": 2,
        "dropout": 0.1
    }
    ```
    """

    name = "bidirectional_language_model_torch_lstm"

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
        if cell_size <= hidden_dim:
            raise ConfigurationError(
                f"{self.name}: `cell_size` is {cell_size}; it must be more than `hidden_dim`, "
                f"{hidden_dim}, because of `torch.nn.LSTM`."
            )
        super().__init__(
            lambda: _Layer(hidden_dim, cell_size, layer_norm),
            input_dim,
            hidden_dim,
            num_layers,
            dropout,
            return_all_layers,
        )


class _Layer(torch.nn.Module):
    def __init__(self, hidden_dim: int, cell_size: int, layer_norm: bool) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(hidden_dim, cell_size, proj_size=hidden_dim)
        self.layer_norm = torch.nn.LayerNorm(hidden_dim) if layer_norm else torch.nn.Identity()

    def forward(self, inputs: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
        if not len(inputs):
            return inputs
        states, _ = self.lstm(PackedSequence(inputs, torch.tensor(batch_sizes)))
        normalised: torch.Tensor = self.layer_norm(states.data.to(self.lstm.weight_hh_l0.dtype))
        return normalised
