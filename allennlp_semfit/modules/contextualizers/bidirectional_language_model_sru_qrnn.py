from functools import partial

from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.modules.contextualizers.bidirectional_stack import BidirectionalStack
from allennlp_semfit.modules.kernels.elementwise_recurrence import ElementwiseRecurrentLayer

__all__ = ["BidirectionalLanguageModelQrnn", "BidirectionalLanguageModelSru"]


@Seq2SeqEncoder.register("bidirectional_language_model_sru")
class BidirectionalLanguageModelSru(BidirectionalStack):
    """
    Two independent stacks of SRUs (Lei et al. 2018, "Simple Recurrent Units for Highly
    Parallelizable Recurrence"), one for each direction. An SRU has no recurrent matrix: all its
    matrix products are computed for all words at once.

    It has the layers of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_sru".

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    hidden_dim : `int`
        The dimension of each direction's output; the output dimension is twice this.
    cell_size : `int`
        The number of memory cells in each direction of each layer.
    num_layers : `int`, optional (default = `4`)
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalisation to each layer's output.
    dropout : `float`, optional (default = `0.0`)
        Applied to each layer's input, but not to the residual connections.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.
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

    name = "bidirectional_language_model_sru"

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        cell_size: int,
        num_layers: int = 4,
        layer_norm: bool = True,
        dropout: float = 0.0,
        return_all_layers: bool = False,
        implementation: str = "auto",
    ) -> None:
        super().__init__(
            partial(
                ElementwiseRecurrentLayer,
                hidden_dim,
                cell_size,
                window_size=1,
                peepholes=True,
                layer_norm=layer_norm,
                implementation=implementation,
            ),
            input_dim,
            hidden_dim,
            num_layers,
            dropout,
            return_all_layers,
            implementation,
            cell_size=cell_size,
        )


@Seq2SeqEncoder.register("bidirectional_language_model_qrnn")
class BidirectionalLanguageModelQrnn(BidirectionalStack):
    """
    Two independent stacks of QRNNs with fo-pooling (Bradbury et al. 2017, "Quasi-Recurrent Neural
    Networks"), one for each direction. A QRNN has no recurrent matrix: its gates are convolutions
    over the last `window_size` words, computed for all words at once.

    It has the layers of [`BidirectionalStack`](../bidirectional_stack#bidirectionalstack).

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_qrnn".

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    hidden_dim : `int`
        The dimension of each direction's output; the output dimension is twice this.
    cell_size : `int`
        The number of memory cells in each direction of each layer.
    num_layers : `int`, optional (default = `2`)
    window_size : `int`, optional (default = `2`)
        The number of words, up to the current one, that the gates depend on directly.
    layer_norm : `bool`, optional (default = `True`)
        Whether to apply layer normalisation to each layer's output.
    dropout : `float`, optional (default = `0.0`)
        Applied to each layer's input, but not to the residual connections.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.
    implementation : `str`, optional (default = `"auto"`)
        What computes the recurrence: `"native"` is a CPU kernel, `"triton"` a GPU kernel and
        `"torch"` are PyTorch's operations. `"auto"` is the fastest that is available.

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

    name = "bidirectional_language_model_qrnn"

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        cell_size: int,
        num_layers: int = 2,
        window_size: int = 2,
        layer_norm: bool = True,
        dropout: float = 0.0,
        return_all_layers: bool = False,
        implementation: str = "auto",
    ) -> None:
        layer = partial(
            ElementwiseRecurrentLayer,
            hidden_dim,
            cell_size,
            window_size,
            False,
            layer_norm,
            implementation,
        )
        super().__init__(
            layer,
            input_dim,
            hidden_dim,
            num_layers,
            dropout,
            return_all_layers,
            implementation,
            cell_size=cell_size,
            window_size=window_size,
        )
