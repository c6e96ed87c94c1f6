from typing import Any, Dict, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from transformers import AutoConfig, AutoModel

from allennlp_semfit.common.errors import check_choice, first_line
from allennlp_semfit.modules.contextualizers.contextualizer import Contextualizer

# Encoders that use absolute positions and attend to all words.
_MODEL_TYPES = ("bert", "distilbert", "electra", "roformer")


@Seq2SeqEncoder.register("hugging_face_encoder")
class HuggingFaceEncoder(Contextualizer, Seq2SeqEncoder):
    """
    A transformer encoder of the library `transformers` with random weights, built from the sizes
    in its configuration. Nothing is downloaded. It reads word vectors, projected to its dimension,
    in place of its own word embeddings.

    Every state depends on the whole sentence, so use it with `masked_lm`. The word embeddings and
    the pooler are removed.

    Registered as a `Seq2SeqEncoder` with name "hugging_face_encoder".

    # Parameters

    input_dim : `int`
        The dimension of the word vectors.
    model_type : `str`, optional (default = `"bert"`)
        `"bert"`, `"distilbert"`, `"electra"`, or `"roformer"` (Su et al. 2021, "RoFormer: Enhanced
        Transformer with Rotary Position Embedding"), which learns no position embeddings and so
        can read longer sentences than it was trained on.
    config : `Dict[str, Any]`, optional (default = `None`)
        The parameters of its configuration class that differ from their defaults. A sentence of
        more tokens than `max_position_embeddings` is read in windows of that length.
    return_all_layers : `bool`, optional (default = `False`)
        Whether `forward` returns all layers or only the last one.

    # Raises

    `ConfigurationError`
        If `input_dim` is less than 1, `model_type` is unknown, or `config` does not fit it.

    # Example

    ```json
    "contextualizer": {
        "type": "hugging_face_encoder",
        "input_dim": 300,
        "config": {
            "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
            "intermediate_size": 1024
        }
    }
    ```
    """

    name = "hugging_face_encoder"

    def __init__(
        self,
        input_dim: int,
        model_type: str = "bert",
        config: Optional[Dict[str, Any]] = None,
        return_all_layers: bool = False,
    ) -> None:
        check_choice(f"{self.name}: `model_type`", model_type, _MODEL_TYPES)
        config = config or {}
        defaults = AutoConfig.for_model(model_type)
        # `transformers` ignores unknown parameters.
        unknown = {*config} - {*defaults.to_dict(), *defaults.attribute_map}
        if unknown or config.get("is_decoder"):
            raise ConfigurationError(
                f"{self.name}: `config` has {min(unknown or {'is_decoder'})!r}, which is not a "
                f"parameter of an encoder of the type {model_type}; see its configuration class in "
                "the documentation of transformers."
            )
        try:
            # A vocabulary of one word, the padding, until the word embeddings are removed below.
            options = {"vocab_size": 1, "pad_token_id": 0, **config}
            encoder = AutoModel.from_config(AutoConfig.for_model(model_type, **options))
        except (ValueError, TypeError, KeyError, AttributeError, AssertionError) as error:
            raise ConfigurationError(
                f"{self.name}: transformers cannot build a {model_type} from `config` {config} "
                f"({first_line(error)})."
            ) from error
        sizes = encoder.config
        super().__init__(
            input_dim, int(sizes.hidden_size), int(sizes.num_hidden_layers), return_all_layers
        )
        embedding_dim = encoder.get_input_embeddings().embedding_dim
        self.input_projection = torch.nn.Linear(input_dim, embedding_dim)
        # Parameters without gradients would stop distributed training.
        encoder.set_input_embeddings(None)
        encoder.pooler = None
        self.encoder = encoder
        self.max_length = getattr(sizes, "max_position_embeddings", None)

    def _run(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> Sequence[torch.Tensor]:
        if not mask.numel():
            return [inputs.new_zeros(*mask.shape, self.output_dim)] * (self.num_layers + 1)
        # The first layer is the projected word vectors with their positions.
        return self.encoder(
            inputs_embeds=self.input_projection(inputs),
            attention_mask=mask.long(),
            output_hidden_states=True,
        ).hidden_states
