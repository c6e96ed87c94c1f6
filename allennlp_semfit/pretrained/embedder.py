import os
from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules import ScalarMix
from allennlp.modules.token_embedders import TokenEmbedder
from torch.nn.functional import layer_norm

from allennlp_semfit.common.errors import with_config_key
from allennlp_semfit.pretrained.bilm import PretrainedBiLm

__all__ = ["ElmoSemfitEmbedder"]


@TokenEmbedder.register("elmo_semfit")
class ElmoSemfitEmbedder(TokenEmbedder):
    """
    Embeds each word by what a trained `bidirectional_lm` makes of it in its sentence: a weighted
    mean of all its layers, `γ Σ_j s_j h_j`, with `γ` and `s = softmax(w)` learnt by the task
    (Peters et al. 2018, "Deep contextualized word representations", equation 1).

    It stands where AllenNLP's `elmo_token_embedder` stood, and its parameters mean what they mean
    there, but for `do_layer_norm`. Its indexer, under the same name, is the `elmo_semfit` indexer
    with the same archive. The sentence's boundaries are added and dropped inside, and where the
    language model reads subwords, their vectors are joined.

    Frozen, it runs without a graph and without the language model's dropout. If the language model
    reads characters, the vectors of 100,000 words are then remembered, which at 512 dimensions take
    up to 205 MB of the device's memory, so that a word does not go through its CNN at each
    occurrence in each epoch. The language model's weights become part of the task's, and travel in
    its archive.

    An indexer of the language model's own type does as well, if it needs no vocabulary: `fasttext`
    with the language model's file, or `elmo_characters`.

    Two mistakes go unnoticed, and cost all that the language model has learnt: an indexer with
    another archive or another fastText file of the same dimension; and an `initializer` of the
    task's model with a regex that matches the language model's parameters too. A task that has one
    should spare them: `"prevent_regexes": ["_text_field_embedder.*"]`.

    Registered as a `TokenEmbedder` with name "elmo_semfit".

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, or the directory of its training.
    dropout : `float`, optional (default = `0.5`)
        The probability of dropping an element of the representation, before the projection.
    do_layer_norm : `bool`, optional (default = `False`)
        Whether to normalise each layer before they are mixed (Peters et al. 2018, section 3.2), so
        that none drowns in a longer one: each vector by itself, a word's or a subword's, to mean 0
        and variance 1.
        AllenNLP's `ScalarMix` takes mean and variance of the whole batch, so that a sentence's
        vectors depend on its company; here they do not.
    requires_grad : `bool`, optional (default = `False`)
        Whether the task's training changes the language model too. What was frozen when the
        language model was trained stays so.
    projection_dim : `int`, optional (default = `None`)
        If given, the representation is projected to this dimension.
    scalar_mix_parameters : `List[float]`, optional (default = `None`)
        One `w` a layer, the projected input's first. If given, they and `γ` are fixed.
    fasttext_model_path : `str`, optional (default = `None`)
        The language model's fastText file, if it is no longer where its archive says.
        Only the boundaries' vectors are taken from it.
    sub_token_mode : `str`, optional (default = `"first"`)
        What a word has of its subwords, where the language model reads these: `"first"`, the vector
        of the first one, or `"avg"`, their mean. Elsewhere it changes nothing.

    # Raises

    `ConfigurationError`
        If `archive_file` is missing, no archive or that of another model, if there are not as
        many `scalar_mix_parameters` as layers, or if `sub_token_mode` is unknown.

    # Example

    ```json
    "dataset_reader": {
        ...
        "token_indexers": {"elmo": {"type": "elmo_semfit", "archive_file": "model.tar.gz"}}
    },
    "model": {
        ...
        "text_field_embedder": {
            "token_embedders": {
                "elmo": {
                    "type": "elmo_semfit", "archive_file": "model.tar.gz", "do_layer_norm": true
                }
            }
        }
    }
    ```
    """

    def __init__(
        self,
        archive_file: Union[str, os.PathLike],
        dropout: float = 0.5,
        do_layer_norm: bool = False,
        requires_grad: bool = False,
        projection_dim: Optional[int] = None,
        scalar_mix_parameters: Optional[List[float]] = None,
        fasttext_model_path: Optional[str] = None,
        sub_token_mode: str = "first",
    ) -> None:
        super().__init__()
        self._archive_file = archive_file
        self._language_model = PretrainedBiLm.from_archive(
            archive_file, fasttext_model_path, sub_token_mode
        )
        num_layers = self._language_model.num_layers
        if scalar_mix_parameters is not None and len(scalar_mix_parameters) != num_layers:
            raise ConfigurationError(
                f"`scalar_mix_parameters` of the elmo_semfit embedder is {scalar_mix_parameters}, "
                f"but the language model {archive_file} has {num_layers} layers. Give one number a "
                "layer, the projected input's first, or none."
            )
        if not requires_grad:
            self._language_model.freeze()
        self._requires_grad = requires_grad
        self._do_layer_norm = do_layer_norm
        self._scalar_mix = ScalarMix(
            num_layers,
            initial_scalar_parameters=scalar_mix_parameters,
            trainable=scalar_mix_parameters is None,
        )
        self._dropout = torch.nn.Dropout(dropout)
        self._projection: Optional[torch.nn.Linear] = None
        self._output_dim = self._language_model.get_output_dim()
        if projection_dim is not None:
            self._projection = torch.nn.Linear(self._output_dim, projection_dim)
            self._output_dim = projection_dim
        self.train()

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "ElmoSemfitEmbedder":
        with with_config_key(params, "archive_file"):
            return super().from_params(params, *args, **extras)

    def get_output_dim(self) -> int:
        return self._output_dim

    def forward(
        self,
        word_mask: Optional[torch.BoolTensor] = None,
        subword_spans: Optional[torch.LongTensor] = None,
        **others: torch.Tensor,
    ) -> torch.Tensor:
        """
        All tensors are passed by name, and are those of the `elmo_semfit` indexer: for a language
        model with a `fasttext` input `vectors` and `word_mask`, with an `elmo_characters` input
        `elmo_tokens`, with a `single_id` input `lm_tokens`; for a subword model `word_mask`,
        `subword_spans` and those of its subwords, as `lm_…`.

        # Parameters

        word_mask : `torch.BoolTensor`, optional (default = `None`)
            Shape `(batch_size, length)`, with the padding on the right.
        subword_spans : `torch.LongTensor`, optional (default = `None`)
            The first and the last subword of each word. Shape `(batch_size, length, 2)`.
        others : `torch.Tensor`
            Shape `(batch_size, length, ...)`; of subwords, `(batch_size, num_subwords, ...)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, get_output_dim())`; zero where padded, if there is no
            projection.

        # Raises

        `ConfigurationError`
            If these are not the tensors that the language model reads, or its vectors are of
            another dimension than those which it was trained on.
        """
        found = {"word_mask": word_mask, "subword_spans": subword_spans, **others}
        tensors = {name: tensor for name, tensor in found.items() if tensor is not None}
        self._check(tensors)
        with torch.set_grad_enabled(self._requires_grad and torch.is_grad_enabled()):
            layers, _ = self._language_model(tensors)
        if self._do_layer_norm:
            layers = [layer_norm(layer, layer.shape[-1:]) for layer in layers]
        mixed = self._scalar_mix(layers)
        representation = self._dropout(self._language_model.pool_to_words(mixed, tensors))
        return representation if self._projection is None else self._projection(representation)

    def _check(self, tensors: Dict[str, torch.Tensor]) -> None:
        wanted = self._language_model.input_names()
        remedy = (
            "Let that indexer be "
            f'{{"type": "elmo_semfit", "archive_file": "{self._archive_file}"}}.'
        )
        if wanted is not None and wanted != set(tensors):
            raise ConfigurationError(
                f"The language model {self._archive_file} of the elmo_semfit embedder takes "
                f"{sorted(wanted)}, but the indexer of the same name gave it {sorted(tensors)}. "
                f"{remedy}"
            )
        vectors = tensors.get("vectors")
        if vectors is not None and vectors.size(-1) != self._language_model.get_input_dim():
            raise ConfigurationError(
                f"The language model {self._archive_file} was trained on vectors of dimension "
                f"{self._language_model.get_input_dim()}, but those of the indexer of the same "
                f"name are of dimension {vectors.size(-1)}. {remedy}"
            )
