import os
from typing import Any, List, Optional, Union

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules import ScalarMix
from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_semfit.common.invalid_file import located_in
from allennlp_semfit.modules.language_model_layers import LanguageModelLayers

__all__ = ["ElmoSemfitEmbedder"]


@TokenEmbedder.register("elmo_semfit")
class ElmoSemfitEmbedder(TokenEmbedder):
    """
    Embeds each word by what a trained `bidirectional_lm` makes of it in its sentence: a weighted
    mean of all its layers, `γ Σ_j s_j h_j`, with `γ` and `s = softmax(w)` learnt by the task
    (Peters et al. 2018, "Deep contextualized word representations", equation 1).

    It stands where AllenNLP's `elmo_token_embedder` stood, and its parameters mean what they mean
    there. Its indexer, under the same name, is the `fasttext` indexer with the file that the
    language model was trained with. The sentence's boundaries are added and dropped inside.

    Frozen, it runs without a graph and without the language model's dropout. The language model's
    weights become part of the task's, and travel in its archive.

    Two mistakes go unnoticed, and cost all that the language model has learnt: an indexer whose
    file is another of the same dimension, and an `initializer` of the task's model with a regex
    that matches the language model's parameters too. A task that has one should spare them:
    `"prevent_regexes": ["_text_field_embedder.*"]`.

    Registered as a `TokenEmbedder` with name "elmo_semfit".

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`.
    dropout : `float`, optional (default = `0.5`)
        The probability of dropping an element of the representation, before the projection.
    do_layer_norm : `bool`, optional (default = `False`)
        Whether to normalise each layer before they are mixed; see `ScalarMix`. As there, the mean
        and the variance are those of the whole batch, boundaries included, so that a sentence's
        vectors then depend on its company.
    requires_grad : `bool`, optional (default = `False`)
        Whether the task's training changes the language model too.
    projection_dim : `int`, optional (default = `None`)
        If given, the representation is projected to this dimension.
    scalar_mix_parameters : `List[float]`, optional (default = `None`)
        One `w` a layer, the projected input's first. If given, they and `γ` are fixed.
    fasttext_model_path : `str`, optional (default = `None`)
        The language model's fastText file, if it is no longer where its archive says.
        Only the boundaries' vectors are taken from it.

    # Raises

    `ConfigurationError`
        If `archive_file` is missing, no archive or that of another model, or if there are not as
        many `scalar_mix_parameters` as layers.

    # Example

    ```json
    "dataset_reader": {
        ...
        "token_indexers": {"elmo": {"type": "fasttext", "model_path": "vectors.bin"}}
    },
    "model": {
        ...
        "text_field_embedder": {
            "token_embedders": {"elmo": {"type": "elmo_semfit", "archive_file": "model.tar.gz"}}
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
    ) -> None:
        super().__init__()
        self._archive_file = archive_file
        self._language_model = LanguageModelLayers.from_archive(archive_file, fasttext_model_path)
        self._language_model.requires_grad_(requires_grad)
        # It has done its work, and a copy of the embedder would look for its file.
        self._language_model.indexer = None
        self._requires_grad = requires_grad
        self._scalar_mix = ScalarMix(
            self._language_model.num_layers,
            do_layer_norm=do_layer_norm,
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
        with located_in(params, "archive_file"):
            return super().from_params(params, *args, **extras)

    def get_output_dim(self) -> int:
        return self._output_dim

    def train(self, mode: bool = True) -> "ElmoSemfitEmbedder":
        super().train(mode)
        if not self._requires_grad:
            self._language_model.eval()
        return self

    def forward(
        self,
        vectors: Optional[torch.Tensor] = None,
        word_mask: Optional[torch.BoolTensor] = None,
        **others: torch.Tensor,
    ) -> torch.Tensor:
        """
        # Parameters

        vectors : `torch.Tensor`
            The words' fastText vectors. Shape `(batch_size, length, embedding_dim)`.
        word_mask : `torch.BoolTensor`
            Shape `(batch_size, length)`, with the padding on the right.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, get_output_dim())`; zero where padded, if there is no
            projection.

        # Raises

        `ConfigurationError`
            If this is not what the `fasttext` indexer emits, or the vectors are of another
            dimension than those which the language model was trained on.
        """
        if vectors is None or word_mask is None or others:
            found = {"vectors": vectors, "word_mask": word_mask, **others}
            names = [name for name, tensor in found.items() if tensor is not None]
            raise ConfigurationError(
                "The elmo_semfit embedder takes `vectors` and `word_mask`, which the `fasttext` "
                f"indexer gives it, but the indexer of the same name gave it {names}. Let that "
                'indexer be {"type": "fasttext", "model_path": …}.'
            )
        if vectors.size(-1) != self._language_model.get_input_dim():
            raise ConfigurationError(
                f"The language model {self._archive_file} was trained on vectors of dimension "
                f"{self._language_model.get_input_dim()}, but the fasttext indexer's `model_path` "
                f"has vectors of dimension {vectors.size(-1)}. Point it to the file that the "
                "language model was trained with."
            )
        with torch.set_grad_enabled(self._requires_grad and torch.is_grad_enabled()):
            layers, mask = self._language_model({"vectors": vectors, "word_mask": word_mask})
        mixed = self._language_model.without_boundaries(self._scalar_mix(layers, mask))
        representation = self._dropout(mixed * word_mask.unsqueeze(-1))
        return representation if self._projection is None else self._projection(representation)
