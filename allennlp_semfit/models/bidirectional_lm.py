from typing import Any, Dict, List, Optional, Sequence, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.common.initialization import weights_follow
from allennlp_semfit.models.language_model_base import LanguageModelBase
from allennlp_semfit.modules.contextualizers.contextualizer import BidirectionalLstm


@Model.register("bidirectional_lm")
class BidirectionalLm(LanguageModelBase):
    """
    A bidirectional language model (Peters et al. 2018, section 3.1) with any output layer. At each
    word, the forward half of the contextualizer's last layer predicts the next word and the
    backward half predicts the previous word.

    The `language_modeling` reader adds a boundary token to each end of a sentence. Boundary tokens
    are embedded, contextualized and predicted like words.

    The attributes and outputs are named as in AllenNLP's `language_model`.

    Registered as a `Model` with name "bidirectional_lm".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
        Embeds the words, independently of their context.
    contextualizer : `Seq2SeqEncoder`
        Any of this package except `hugging_face_encoder`. Neither half may depend on the words that
        it predicts, which is checked.
    head : `LmHead`
        The output layer, shared by both directions.
    initializer : `InitializerApplicator`, optional (default = `None`)
    pretrained_file : `str`, optional (default = `None`)
        The archive of a `bidirectional_lm` with the same parameters, to continue its training on
        other text. The archive of the new model does not need this file.

    # Raises

    `ConfigurationError`
        If the contextualizer cannot return all its layers or sees the words that it predicts, the
        dimensions of two modules do not match, or the targets are the input vectors and these are
        trainable.
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

    name = "bidirectional_lm"
    num_directions = 2

    def _check_compatible(self) -> None:
        # The LSTM keeps its directions apart, and may need a GPU.
        if not weights_follow.get() and not isinstance(self._contextualizer, BidirectionalLstm):
            self._check_directions()
        super()._check_compatible()

    def _check_directions(self) -> None:
        forward_states, backward_states = self._contextualize(changed=None)
        if not (
            torch.allclose(self._contextualize(changed=2)[0][:2], forward_states[:2])
            and torch.allclose(self._contextualize(changed=0)[1][1:], backward_states[1:])
        ):
            raise ConfigurationError(
                f"{self.name}: the `contextualizer`, a {type(self._contextualizer).__name__}, sees "
                "the words that it predicts: its forward half depends on later words, or its "
                "backward half on earlier ones. Use another contextualizer, or the model "
                "`masked_lm`."
            )

    @torch.no_grad()
    def _contextualize(self, changed: Optional[int]) -> Sequence[torch.Tensor]:
        """Both directions' states of three words, one of which may be changed."""
        self._contextualizer.eval()
        words = torch.linspace(-1, 1, 3 * self._contextualizer.get_input_dim()).view(1, 3, -1)
        # The contextualizer may be on a GPU already, or in another precision.
        words = words.to(next(self._contextualizer.parameters(), words))
        if changed is not None:
            words[:, changed] = 1.5
        layers = self._contextualizer(words, words.new_ones(1, 3, dtype=torch.bool))
        self._contextualizer.train()
        last_layer = layers if isinstance(layers, torch.Tensor) else layers[-1]
        return last_layer[0].chunk(2, dim=-1)

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
        # The positions of all pairs of neighbors, which are each other's targets. `nonzero` waits
        # for the device, so call it once, before the device is busy.
        left = mask[:, 1:].nonzero(as_tuple=True)
        right = (left[0], left[1] + 1)
        num_targets = len(left[0])
        embeddings = self._embed(source)
        layers: Union[torch.Tensor, List[torch.Tensor]] = self._contextualizer(embeddings, mask)
        last_layer = layers if isinstance(layers, torch.Tensor) else layers[-1]

        forward_states, backward_states = last_layer.flatten(0, 1).chunk(2, dim=-1)
        # On a GPU, the backward pass of indexing with several tensors sorts them, in many kernels.
        rows = left[0] * mask.size(1) + left[1]
        forward_states = forward_states.index_select(0, rows)
        backward_states = backward_states.index_select(0, rows + 1)
        targets = self._head.prepare_targets(source, embeddings)
        scale = 1 / max(num_targets, 1)
        forward_loss = self._head(forward_states, targets[right]) * scale
        backward_loss = self._head(backward_states, targets[left]) * scale

        return {
            "loss": self._check_finite((forward_loss + backward_loss) / 2),
            "forward_loss": forward_loss,
            "backward_loss": backward_loss,
            "batch_weight": mask.new_full((), num_targets, dtype=torch.float),
            "lm_embeddings": layers,
            "noncontextual_token_embeddings": embeddings,
            "mask": mask,
        }
