from typing import Any, Dict, Tuple

import torch
from allennlp.data import TextFieldTensors
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.models.language_model_base import LanguageModelBase

# The shares of the target words (Devlin et al. 2019, section 3.1). The rest is unchanged.
_MASKED = 0.8
_REPLACED = 0.1


@Model.register("masked_lm")
class MaskedLm(LanguageModelBase):
    """
    A masked language model (Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional
    Transformers for Language Understanding", section 3.1) of whole words with any output layer.

    Every word and boundary token is a target with probability `masking_probability`. In the input,
    80% of the targets are replaced with a learned vector, 10% with a random word of the batch, and
    10% are unchanged. As in BERT, the random word may be the target itself; it is never a boundary
    token, that is, the first or last token of a sentence. In evaluation, the choice depends only on
    the shape of the batch, so that two models are scored on the same words.

    Registered as a `Model` with name "masked_lm".

    # Parameters

    vocab, text_field_embedder, head, initializer, pretrained_file
        See `bidirectional_lm`.
    contextualizer : `Seq2SeqEncoder`
        Any of this package. Every state may depend on the whole sentence, as in
        `hugging_face_encoder`.
    masking_probability : `float`, optional (default = `0.15`)
        The probability that a word is a target. Each batch contains at least one target.

    # Raises

    `ConfigurationError`
        If `masking_probability` is not above 0 and at most 1. See also `bidirectional_lm`.

    # Example

    ```json
    "model": {
        "type": "masked_lm",
        "text_field_embedder": {
            "token_embedders": {"fasttext": {"type": "fasttext", "embedding_dim": 300}}
        },
        "contextualizer": {
            "type": "hugging_face_encoder", "input_dim": 300,
            "config": {
                "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
                "intermediate_size": 2048
            }
        },
        "head": {"type": "contrastive", "input_dim": 512, "embedding_dim": 300}
    }
    ```
    """

    name = "masked_lm"
    num_directions = 1

    def __init__(self, masking_probability: float = 0.15, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        bounded = {"model.masking_probability": masking_probability}
        check_bounds(bounded, at_least=0, at_most=1, but_not=0)
        self.masking_probability = masking_probability

    def _add_parameters(self) -> None:
        dim = self._text_field_embedder.get_output_dim()
        self.mask_vector = torch.nn.Parameter(torch.zeros(dim))

    def forward(self, source: TextFieldTensors) -> Dict[str, Any]:
        """
        Like `bidirectional_lm`, but with one `"loss"`, averaged over the targets. The layers of the
        sentences without masking, `"lm_embeddings"`, are only returned in evaluation, with
        `return_all_layers`.
        """
        mask = get_text_field_mask(source)
        embeddings = self._embed(source)
        is_target, inputs = self._mask_words(embeddings, mask)
        positions = is_target.nonzero(as_tuple=True)
        num_targets = len(positions[0])
        layers = self._contextualizer(inputs, mask)
        last_layer = layers if isinstance(layers, torch.Tensor) else layers[-1]
        # As in `bidirectional_lm`, rows have the faster backward pass.
        rows = positions[0] * mask.size(1) + positions[1]
        states = last_layer.flatten(0, 1).index_select(0, rows)
        targets = self._head.prepare_targets(source, embeddings)
        loss = self._head(states, targets[positions]) / max(num_targets, 1)
        outputs = {
            "loss": self._check_finite(loss),
            "batch_weight": mask.new_full((), num_targets, dtype=torch.float),
            "noncontextual_token_embeddings": embeddings,
            "mask": mask,
        }
        if self._contextualizer.return_all_layers and not self.training:
            outputs["lm_embeddings"] = self._contextualizer(embeddings, mask)
        return outputs

    def _mask_words(
        self, embeddings: torch.Tensor, mask: torch.BoolTensor
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """Returns which words are targets, and the input with most of them masked or replaced."""
        if not mask.any():
            return mask, embeddings
        # In evaluation, draw the same words on every device.
        draws = (
            torch.rand(3, *mask.shape, device=mask.device)
            if self.training
            else torch.rand(3, *mask.shape, generator=torch.Generator().manual_seed(1))
        )
        choices, treatments, others = draws.to(mask.device)
        # The word with the lowest number is always a target.
        choices = choices.masked_fill(~mask, 1)
        is_target = mask & (choices <= choices.min().clamp(min=self.masking_probability))
        is_masked = is_target & (treatments < _MASKED)
        is_replaced = is_target & (treatments >= 1 - _REPLACED)
        mask_vector = self.mask_vector.to(embeddings.dtype)
        inputs = torch.where(is_masked.unsqueeze(-1), mask_vector, embeddings)
        # All tokens but the first and the last one of each sentence.
        is_word = torch.zeros_like(mask)
        is_word[:, 1:-1] = mask[:, 2:]
        words = embeddings[is_word]
        if not len(words):
            return is_target, inputs
        replacements = words[(others * len(words)).long().clamp(max=len(words) - 1)]
        return is_target, torch.where(is_replaced.unsqueeze(-1), replacements, inputs)
