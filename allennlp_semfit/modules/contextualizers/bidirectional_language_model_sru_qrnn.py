from typing import Any

from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.modules.contextualizers.registered_stack import RegisteredStack
from allennlp_semfit.modules.kernels.elementwise_recurrence import ElementwiseRecurrentLayer
from allennlp_semfit.modules.kernels.implementation import check_implementation

__all__ = ["BidirectionalLanguageModelQrnn", "BidirectionalLanguageModelSru"]


@Seq2SeqEncoder.register("bidirectional_language_model_sru")
class BidirectionalLanguageModelSru(RegisteredStack):
    """
    Two independent stacks of SRUs (Lei et al. 2018, "Simple Recurrent Units for Highly
    Parallelizable Recurrence"), one for each direction. An SRU has no recurrent matrix: all its
    matrix products are computed for all words at once.

    It has the layers of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_sru".

    # Parameters

    input_dim, hidden_dim, cell_size, dropout, return_all_layers
        See `bidirectional_language_model_lstm`.
    num_layers : `int`, optional (default = `4`)
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalisation to each layer's output.
    implementation : `str`, optional (default = `"auto"`)
        What computes the recurrence: `"native"` is a CPU kernel, `"triton"` a GPU kernel and
        `"torch"` are PyTorch's operations. `"auto"` is the fastest that is available.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `dropout` is not in [0, 1) or the implementation is not available.

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

    def __init__(self, num_layers: int = 4, implementation: str = "auto", **kwargs: Any) -> None:
        super().__init__(num_layers=num_layers, **kwargs)
        check_implementation(implementation)
        options = {"window_size": 1, "peepholes": True, "implementation": implementation}
        self._add_layers(ElementwiseRecurrentLayer, **options)


@Seq2SeqEncoder.register("bidirectional_language_model_qrnn")
class BidirectionalLanguageModelQrnn(RegisteredStack):
    """
    Two independent stacks of QRNNs with fo-pooling (Bradbury et al. 2017, "Quasi-Recurrent Neural
    Networks"), one for each direction. A QRNN has no recurrent matrix: its gates are convolutions
    over the last `window_size` words, computed for all words at once.

    It has the layers of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_qrnn".

    # Parameters

    input_dim, hidden_dim, cell_size, num_layers, dropout, return_all_layers
        See `bidirectional_language_model_lstm`.
    layer_norm, implementation
        See `bidirectional_language_model_sru`.
    window_size : `int`, optional (default = `2`)
        The number of words, up to the current one, that the gates depend on directly.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `dropout` is not in [0, 1) or the implementation is not available.

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

    def __init__(self, window_size: int = 2, implementation: str = "auto", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_implementation(implementation)
        self.check_sizes(window_size=window_size)
        options = {"window_size": window_size, "peepholes": False, "implementation": implementation}
        self._add_layers(ElementwiseRecurrentLayer, **options)
