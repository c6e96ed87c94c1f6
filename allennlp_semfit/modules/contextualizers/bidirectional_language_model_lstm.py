from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.modules.contextualizers.bidirectional_lstm import BidirectionalLstm


@Seq2SeqEncoder.register("bidirectional_language_model_lstm")
class BidirectionalLanguageModelLstm(BidirectionalLstm, Seq2SeqEncoder):
    """
    Two independent stacks of projected LSTMs, one for each direction. At every layer, a forward
    state depends only on the current and earlier words, and a backward state only on the current
    and later words, as a language model requires.

    It is the contextualizer of ELMo (Peters et al. 2018, "Deep contextualized word
    representations") with the layer normalization of Li et al. 2019, section 5.1. Each direction
    projects its input to `hidden_dim` and applies `num_layers` LSTM layers whose state is projected
    to `hidden_dim` too, with a residual connection around each layer but the first.

    It is stateless: every sentence starts from a zero state.

    At the start of training, an LSTM with few cells, such as 256, is chaotic with `layer_norm`:
    after a few hundred words, the rounding errors of a state are as large as the state, and
    gradients are huge. Bound them with `trainer.grad_norm` for the first few hundred steps, or
    start with a smaller layer norm weight, which trains equally well: set the model's `initializer`
    to `{"regexes": [["layer_norm.weight", {"type": "constant", "val": 0.5}]]}`.

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
        Whether to apply layer normalization to each layer's state, inside the recurrence.
    dropout : `float`, optional (default = `0.0`)
        Applied to each layer's input, but not to the residual connections.
    memory_cell_clip_value : `float`, optional (default = `3.0`)
        The maximum magnitude of the cell state; `null` for no clipping.
    state_projection_clip_value : `float`, optional (default = `3.0`)
        The maximum magnitude of the projected state; `null` for no clipping.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.
    implementation : `str`, optional (default = `"auto"`)
        What computes the operations between the matrix products: `"native"` are CPU kernels,
        `"triton"` GPU kernels and `"torch"` PyTorch's operations. `"auto"` is the fastest that is
        available.

    # Raises

    `ConfigurationError`
        If a size is less than 1, `dropout` is not in [0, 1), a clip value is not positive or the
        implementation is not available.

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
