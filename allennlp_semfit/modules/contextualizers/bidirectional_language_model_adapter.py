from typing import List, Union

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

__all__ = ["BidirectionalLanguageModelAdapter"]


@Seq2SeqEncoder.register("bidirectional_language_model_adapter")
class BidirectionalLanguageModelAdapter(Seq2SeqEncoder):
    """
    Makes another encoder the contextualizer of a language model, such as allennlp-models'
    `bidirectional_language_model_transformer` or AllenNLP's `gated-cnn-encoder`. It projects the
    word vectors to the dimension of the encoder, counts its layers and returns them with the
    projected input. Give each block of a `gated-cnn-encoder` one convolution: between those of a
    block, padding is not set to zero, and a vector would depend on the length of the batch.

    Registered as a `Seq2SeqEncoder` with name "bidirectional_language_model_adapter".

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    encoder : `Lazy[Seq2SeqEncoder]`
        It must be bidirectional, have the parameter `return_all_layers`, which is set here, and
        outputs of twice the dimension of its input. The forward half may depend only on the current
        and earlier words, the backward half only on the current and later ones.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.

    # Raises

    `ConfigurationError`
        If `input_dim` is less than 1, or the encoder lacks one of these properties.

    # Example

    ```json
    "contextualizer": {
        "type": "bidirectional_language_model_adapter",
        "input_dim": 300,
        "encoder": {
            "type": "bidirectional_language_model_transformer",
            "input_dim": 512,
            "hidden_dim": 2048,
            "num_layers": 6
        }
    }
    ```
    """

    name = "bidirectional_language_model_adapter"

    def __init__(
        self, input_dim: int, encoder: Lazy[Seq2SeqEncoder], return_all_layers: bool = False
    ) -> None:
        super().__init__()
        if input_dim < 1:
            raise ConfigurationError(
                f"{self.name}: `input_dim` is {input_dim}; it must be at least 1."
            )
        self.encoder = encoder.construct(return_all_layers=True)
        self.hidden_dim = self.encoder.get_input_dim()
        if self.encoder.get_output_dim() != 2 * self.hidden_dim:
            raise ConfigurationError(
                f"{self.name}: the `encoder` has inputs of dimension {self.hidden_dim} and outputs "
                f"of {self.encoder.get_output_dim()}; they must have {2 * self.hidden_dim}, those "
                "of both directions."
            )
        self.input_dim = input_dim
        self.return_all_layers = return_all_layers
        self.num_layers = self._count_layers()
        self.input_projection = torch.nn.Linear(input_dim, self.hidden_dim)

    @torch.enable_grad()
    def _count_layers(self) -> int:
        """Runs the encoder, and checks that no state depends on the words that it predicts."""
        was_training = self.encoder.training
        self.encoder.eval()
        inputs = torch.randn(1, 5, self.hidden_dim, requires_grad=True)
        layers = self.encoder(inputs, torch.ones(1, 5, dtype=torch.bool))
        if not isinstance(layers, (list, tuple)):
            raise ConfigurationError(
                f"{self.name}: the `encoder` returns only its last layer. It must have the "
                "parameter `return_all_layers`, and its config must not set it to false."
            )
        weights = torch.linspace(-1, 1, self.hidden_dim) ** 3
        for layer in layers:
            forward_states, backward_states = layer[0, 2].chunk(2)
            for states, unknown in ((forward_states, slice(3, None)), (backward_states, slice(2))):
                # The sum of a normalised state would be constant.
                loss = (states * weights).sum()
                (gradient,) = torch.autograd.grad(loss, inputs, retain_graph=True)
                if gradient[0, unknown].any():
                    raise ConfigurationError(
                        f"{self.name}: a layer of the `encoder` depends on words that it would "
                        "predict: on later words in the first half of its output, or on earlier "
                        "words in the second."
                    )
        self.encoder.train(was_training)
        return len(layers)

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
            `num_layers + 1` such tensors, the first of which is the projected input, twice.
        """
        projected = self.input_projection(inputs)
        layers = [torch.cat([projected, projected], dim=-1)]
        if mask.numel():
            layers += self.encoder(projected, mask)
        else:
            layers *= self.num_layers + 1
        # The projection may be in half precision under autocast.
        layers = [layer.to(inputs.dtype) * mask.unsqueeze(-1) for layer in layers]
        return layers if self.return_all_layers else layers[-1]
