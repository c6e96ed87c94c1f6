from typing import List

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_semfit.modules.contextualizers.contextualizer import Contextualizer


@Seq2SeqEncoder.register("bidirectional_language_model_adapter")
class BidirectionalLanguageModelAdapter(Contextualizer, Seq2SeqEncoder):
    """
    Makes another encoder the contextualizer of a language model, such as allennlp-models'
    `bidirectional_language_model_transformer` or AllenNLP's `gated-cnn-encoder`. It projects the
    word vectors to the dimension of the encoder, counts its layers and returns them with the
    projected input. Sentences are read in windows of 5000 words, the number of positions of the
    transformer.

    Give each block of a `gated-cnn-encoder` only one convolution. It does not set the padding
    between the convolutions of a block to zero, so vectors would depend on the amount of padding.

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
        If `input_dim` is less than 1, or the encoder's outputs are not as described.

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
    max_length = 5000

    def __init__(
        self, input_dim: int, encoder: Lazy[Seq2SeqEncoder], return_all_layers: bool = False
    ) -> None:
        built = encoder.construct(return_all_layers=True)
        dim, output_dim = built.get_input_dim(), built.get_output_dim()
        if output_dim != 2 * dim:
            raise ConfigurationError(
                f"{self.name}: the `encoder` has inputs of dimension {dim} and outputs of "
                f"{output_dim}; the outputs must have {2 * dim}, half of it for each direction."
            )
        super().__init__(input_dim, output_dim, self._count_layers(built), return_all_layers)
        self.encoder = built
        self.input_projection = torch.nn.Linear(input_dim, dim)

    @torch.no_grad()
    def _count_layers(self, encoder: Seq2SeqEncoder) -> int:
        encoder.eval()
        inputs = torch.zeros(1, 5, encoder.get_input_dim())
        layers = encoder(inputs, torch.ones(1, 5, dtype=torch.bool))
        encoder.train()
        if not isinstance(layers, (list, tuple)):
            raise ConfigurationError(
                f"{self.name}: the `encoder` returns only its last layer. It must have the "
                "parameter `return_all_layers`, and its config must not set it to false."
            )
        return len(layers)

    def _run(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> List[torch.Tensor]:
        projected = self.input_projection(inputs)
        first = torch.cat([projected, projected], dim=-1)
        if not mask.numel():
            return [first] * (self.num_layers + 1)
        return [first, *self.encoder(projected, mask)]
