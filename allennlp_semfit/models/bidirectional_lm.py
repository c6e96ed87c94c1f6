from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.common.errors import InvalidFileError
from allennlp_semfit.models.archive import load_weights
from allennlp_semfit.modules.lm_heads.lm_head import LmHead

__all__ = ["BidirectionalLm"]


@Model.register("bidirectional_lm")
class BidirectionalLm(Model):
    """
    A bidirectional language model (Peters et al. 2018, section 3.1) with any output layer. At each
    word, the forward half of the contextualizer's last layer predicts the next word and the
    backward half predicts the previous word.

    The `language_modeling` reader adds a boundary token to each end of a sentence. Boundary tokens
    are embedded, contextualised and predicted like words.

    The attributes and outputs have the same names as those of AllenNLP's `language_model`.

    Registered as a `Model` with name "bidirectional_lm".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
        Embeds the words, independently of their context.
    contextualizer : `Seq2SeqEncoder`
        It must be bidirectional, and neither half may depend on the words that it predicts.
    head : `LmHead`
        The output layer, shared by both directions.
    initializer : `InitializerApplicator`, optional (default = `None`)
    pretrained_file : `str`, optional (default = `None`)
        The archive of a `bidirectional_lm` with the same parameters, to continue its training on
        other text. AllenNLP ignores this key when it loads the archive of the new model, which
        therefore does not need the old one.

    # Raises

    `ConfigurationError`
        If the contextualizer is unidirectional, the dimensions of two modules do not match, or the
        targets are the input vectors and these are trainable.
    `InvalidFileError`
        If `pretrained_file` does not exist, cannot be read, or has other parameters.

    # Example

    ```json
    "model": {
        "type": "bidirectional_lm",
        "text_field_embedder": {
            "token_embedders": {"fasttext": {"type": "fasttext", "embedding_dim": 300}}
        },
        "contextualizer": {
            "type": "bidirectional_language_model_lstm",
            "input_dim": 300, "hidden_dim": 512, "cell_size": 4096
        },
        "head": {"type": "semfit", "input_dim": 512, "embedding_dim": 300}
    }
    ```
    """

    default_predictor = "bidirectional_lm"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        contextualizer: Seq2SeqEncoder,
        head: LmHead,
        initializer: InitializerApplicator = None,
        pretrained_file: Optional[str] = None,
        **kwargs,
    ) -> None:
        super().__init__(vocab, **kwargs)
        _check_compatible(text_field_embedder, contextualizer, head)
        head.tie_weights(text_field_embedder)
        self._text_field_embedder = text_field_embedder
        self._contextualizer = contextualizer
        self._head = head
        if initializer is not None:
            initializer(self)
        if pretrained_file is not None:
            self._load_pretrained(pretrained_file)

    def _load_pretrained(self, archive_file: str) -> None:
        try:
            weights = load_weights(archive_file)
            differences = _differences(self.state_dict(), weights)
            if differences:
                raise InvalidFileError(
                    archive_file,
                    f"has other parameters than this model: {differences}",
                    "Use the `model` of the archive's `config.json`, as "
                    "training_config/continue.jsonnet does.",
                    "Language model",
                )
        except InvalidFileError as error:
            error.key = "model.pretrained_file"
            raise
        self.load_state_dict(weights)

    def num_layers(self) -> int:
        """The number of layers in the representation: the contextualizer's and its input."""
        self._check_returns_layers()
        return int(self._contextualizer.num_layers) + 1  # type: ignore[arg-type]

    @property
    def return_all_layers(self) -> bool:
        """Whether `lm_embeddings` has all layers or only the last one. It can be set."""
        return bool(getattr(self._contextualizer, "return_all_layers", False))

    @return_all_layers.setter
    def return_all_layers(self, value: bool) -> None:
        self._check_returns_layers()
        self._contextualizer.return_all_layers = value  # type: ignore[assignment]

    def _check_returns_layers(self) -> None:
        for attribute in ("return_all_layers", "num_layers"):
            if not hasattr(self._contextualizer, attribute):
                raise ConfigurationError(
                    f"bidirectional_lm: the `contextualizer` is a "
                    f"{type(self._contextualizer).__name__}, which has no `{attribute}` and cannot "
                    "return all its layers. To use the representations, wrap it in "
                    "`bidirectional_language_model_adapter`."
                )

    def forward(self, source: TextFieldTensors) -> Dict[str, Any]:
        """
        # Parameters

        source : `TextFieldTensors`
            Sentences of `length` tokens, including the boundary tokens.

        # Returns

        `Dict[str, Any]`
            - `"loss"`: the head's loss, averaged over the tokens of the batch and both directions;
              `"forward_loss"` and `"backward_loss"`: the same for one direction. Scalars.
            - `"batch_weight"`: the number of predictions in each direction, for
              `allennlp evaluate --batch-weight-key batch_weight`. A scalar.
            - `"lm_embeddings"`: the contextualizer's last layer, shape
              `(batch_size, length, 2 * hidden_dim)`; with `return_all_layers`, a list of
              `num_layers()` such tensors.
            - `"noncontextual_token_embeddings"`: shape `(batch_size, length, embedding_dim)`.
            - `"mask"`: shape `(batch_size, length)`.
        """
        mask = get_text_field_mask(source)
        # The positions of all pairs of neighbours, which are each other's targets. `nonzero` waits
        # for the device, so call it once, before the device has work to do.
        right = mask[:, 1:].nonzero(as_tuple=True)
        right = (right[0], right[1] + 1)
        left = (right[0], right[1] - 1)
        num_targets = right[0].numel()
        embeddings = self._text_field_embedder(source)
        layers: Union[torch.Tensor, List[torch.Tensor]] = self._contextualizer(embeddings, mask)
        last_layer = layers if isinstance(layers, torch.Tensor) else layers[-1]

        forward_states, backward_states = last_layer.chunk(2, dim=-1)
        targets = self._head.targets(source, embeddings)
        scale = 1 / max(num_targets, 1)
        forward_loss = self._head(forward_states[left], targets[right]) * scale
        backward_loss = self._head(backward_states[right], targets[left]) * scale

        return {
            "loss": (forward_loss + backward_loss) / 2,
            "forward_loss": forward_loss,
            "backward_loss": backward_loss,
            "batch_weight": mask.new_tensor(num_targets, dtype=torch.float),
            "lm_embeddings": layers,
            "noncontextual_token_embeddings": embeddings,
            "mask": mask,
        }

    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """
        Keeps the outputs that have a batch dimension: the layers, the input vectors and the mask. A
        list of layers is stacked: shape `(batch_size, num_layers(), length, 2 * hidden_dim)`.
        """
        layers = output_dict["lm_embeddings"]
        return {
            "lm_embeddings": (
                layers if isinstance(layers, torch.Tensor) else torch.stack(layers, dim=1)
            ),
            "noncontextual_token_embeddings": output_dict["noncontextual_token_embeddings"],
            "mask": output_dict["mask"],
        }

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self._head.get_metrics(reset)


def _differences(expected: Dict[str, torch.Tensor], found: Dict[str, torch.Tensor]) -> str:
    """The first parameter or buffer that only one has, or that differs in shape, in words."""
    for name in sorted({*expected, *found}):
        if name not in found:
            return f"it has no {name}"
        if name not in expected:
            return f"it has {name}"
        if expected[name].shape != found[name].shape:
            return (
                f"{name} has shape {tuple(found[name].shape)} instead of "
                f"{tuple(expected[name].shape)}"
            )
    return ""


def _check_compatible(
    text_field_embedder: TextFieldEmbedder, contextualizer: Seq2SeqEncoder, head: LmHead
) -> None:
    if not contextualizer.is_bidirectional():
        raise ConfigurationError(
            f"bidirectional_lm: the `contextualizer` is a {type(contextualizer).__name__} with one "
            "direction; use a bidirectional one."
        )
    embedding_dim = text_field_embedder.get_output_dim()
    context_dim = contextualizer.get_output_dim() // 2
    embeddings = "the text_field_embedder's output"
    contexts = "each direction of the contextualizer (`hidden_dim`)"
    input_dim = contextualizer.get_input_dim()
    _check_dims(embeddings, embedding_dim, "the contextualizer's `input_dim`", input_dim)
    _check_dims(contexts, context_dim, "the head's `input_dim`", head.get_input_dim())
    target_dim = head.get_target_dim()
    if target_dim is not None:
        _check_dims(embeddings, embedding_dim, "the head's `embedding_dim`", target_dim)
        if any(parameter.requires_grad for parameter in text_field_embedder.parameters()):
            raise ConfigurationError(
                "bidirectional_lm: the head's targets are the text_field_embedder's vectors, but "
                "these are trainable, so they would become trivial to predict. Use an embedder "
                "without trainable parameters, such as `fasttext`."
            )


def _check_dims(one: str, one_dim: int, other: str, other_dim: int) -> None:
    if one_dim != other_dim:
        raise ConfigurationError(
            f"bidirectional_lm: {one} has dimension {one_dim}, but {other} is {other_dim}; set it "
            f"to {one_dim}."
        )
