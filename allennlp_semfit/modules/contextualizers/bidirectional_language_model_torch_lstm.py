from typing import Any, List

import torch
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from torch.nn.utils.rnn import PackedSequence

from allennlp_semfit.modules.contextualizers.registered_stack import RegisteredStack


@Seq2SeqEncoder.register("bidirectional_language_model_torch_lstm")
class BidirectionalLanguageModelTorchLstm(RegisteredStack):
    """
    Two independent stacks of `torch.nn.LSTM` with `proj_size`, one for each direction: cuDNN's LSTM
    on a GPU. In contrast to `bidirectional_language_model_lstm`, nothing is clipped, and the layer
    norm is outside of the recurrence.

    The layers are those of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_torch_lstm".

    # Parameters

    input_dim, hidden_dim, num_layers, dropout, return_all_layers
        See `bidirectional_language_model_lstm`.
    cell_size : `int`
        The number of memory cells in each direction of each layer, more than `hidden_dim`.
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalization to each layer's output.

    # Raises

    `ConfigurationError`
        If a size is less than 1 or `dropout` is not in [0, 1).

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

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._add_layers(_NormalizedLstm)


class _NormalizedLstm(torch.nn.Module):
    def __init__(self, hidden_dim: int, cell_size: int, layer_norm: bool) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(hidden_dim, cell_size, proj_size=hidden_dim)
        self.layer_norm = torch.nn.LayerNorm(hidden_dim) if layer_norm else torch.nn.Identity()

    def forward(self, inputs: torch.Tensor, batch_sizes: List[int]) -> torch.Tensor:
        if not len(inputs):
            return inputs
        states, _ = self.lstm(PackedSequence(inputs, torch.tensor(batch_sizes)))
        normalized: torch.Tensor = self.layer_norm(states.data.to(self.lstm.weight_hh_l0.dtype))
        return normalized
