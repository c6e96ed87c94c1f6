import os
from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules import ScalarMix
from allennlp.modules.token_embedders import TokenEmbedder
from torch.nn.functional import layer_norm

from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.pretrained.indexer import check_indexer
from allennlp_semfit.pretrained.layers import LanguageModelLayers


@TokenEmbedder.register("elmo_semfit")
class ElmoSemfitEmbedder(TokenEmbedder, NamesConfigKey):
    """
    Embeds words with a trained language model: a weighted mean of its layers, `γ Σ_j s_j h_j`,
    with `γ` and `s = softmax(w)` learned by the task (Peters et al. 2018, "Deep contextualized word
    representations", equation 1). It replaces AllenNLP's `elmo_token_embedder`, with the same
    parameters except for `do_layer_norm`.

    The indexer of the same name must be an `elmo_semfit` indexer with the same archive or, for a
    model without subwords, the language model's own `fasttext`, `mimick` or `elmo_characters`
    indexer. The language model's weights become part of the task's archive.

    A frozen language model runs without gradients and without dropout. If it reads characters, the
    vectors of 100,000 words are cached, which at 512 dimensions take 205 MB of the device's memory.

    Two mistakes are not detected: a `fasttext` or `mimick` indexer with other vectors of the same
    dimension; and an `initializer` of the task's model that overwrites the language model's
    weights. Exclude them with `"prevent_regexes": ["_text_field_embedder.*"]`.

    Registered as a `TokenEmbedder` with name "elmo_semfit".

    # Parameters

    archive_file : `Union[str, os.PathLike]`
        The language model's `model.tar.gz`, serialization directory or exported folder.
    dropout : `float`, optional (default = `0.5`)
        The dropout probability of the representation, before the projection.
    do_layer_norm : `bool`, optional (default = `False`)
        Whether to normalize each layer before mixing (Peters et al. 2018, section 3.2), so that
        layers with longer vectors do not dominate. Each vector is normalized to mean 0 and variance
        1 by itself; AllenNLP's `ScalarMix` normalizes over the whole batch.
    requires_grad : `bool`, optional (default = `False`)
        Whether to fine-tune the language model. Parameters that its `model` config freezes stay
        frozen, but not those of the trainer's `no_grad`.
    projection_dim : `int`, optional (default = `None`)
        If given, the representation is projected to this dimension.
    scalar_mix_parameters : `List[float]`, optional (default = `None`)
        A fixed `w` for each layer, the projected input first. `γ` is then fixed too.
    sub_token_mode : `str`, optional (default = `"first"`)
        For a subword model, the vector of a word: `"first"`, that of its first subword, or `"avg"`,
        the mean of its subwords.

    # Raises

    `ConfigurationError`
        If `archive_file` is missing or is not the archive of a language model, if the `elmo_semfit`
        indexer of the same name has another language model, if the number of
        `scalar_mix_parameters` is not that of the layers, or if `sub_token_mode` is unknown.

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

    file_parameter = "archive_file"

    def __init__(
        self,
        archive_file: Union[str, os.PathLike],
        dropout: float = 0.5,
        do_layer_norm: bool = False,
        requires_grad: bool = False,
        projection_dim: Optional[int] = None,
        scalar_mix_parameters: Optional[List[float]] = None,
        sub_token_mode: str = "first",
    ) -> None:
        super().__init__()
        archive = LanguageModelArchive.open(archive_file)
        self._archive_file = archive.file
        self._archive_identity = archive.identity
        self._language_model = LanguageModelLayers(archive, archive.build_model(), sub_token_mode)
        num_layers = self._language_model.num_layers
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
        key = params.history
        embedder = super().from_params(params, *args, **extras)
        check_indexer(key, embedder._archive_file, embedder._archive_identity)
        return embedder

    def get_output_dim(self) -> int:
        return self._output_dim

    def forward(
        self,
        word_mask: Optional[torch.BoolTensor] = None,
        subword_spans: Optional[torch.LongTensor] = None,
        **others: torch.Tensor,
    ) -> torch.Tensor:
        """
        Takes the tensors of the `elmo_semfit` indexer by name; see its `tokens_to_indices`.

        # Parameters

        word_mask : `torch.BoolTensor`, optional (default = `None`)
            Shape `(batch_size, length)`, with the padding on the right.
        subword_spans : `torch.LongTensor`, optional (default = `None`)
            The first and last subword of each word. Shape `(batch_size, length, 2)`.
        others : `torch.Tensor`
            Shape `(batch_size, length, ...)` or, for subwords, `(batch_size, num_subwords, ...)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, get_output_dim())`; without a projection, zero where padded.

        # Raises

        `ConfigurationError`
            If the names of the tensors or the dimension of the vectors are not those that the
            language model was trained on.
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
        expected = self._language_model.input_names()
        remedy = (
            f'Use the indexer {{"type": "elmo_semfit", "archive_file": "{self._archive_file}"}} in '
            "each dataset reader."
        )
        if expected != set(tensors):
            raise ConfigurationError(
                f"The language model {self._archive_file} of the elmo_semfit embedder takes "
                f"{sorted(expected)}, but the indexer of the same name gave it {sorted(tensors)}. "
                f"{remedy}"
            )
        vectors = tensors.get("vectors")
        if vectors is not None and vectors.size(-1) != self._language_model.get_input_dim():
            raise ConfigurationError(
                f"The language model {self._archive_file} was trained on vectors of dimension "
                f"{self._language_model.get_input_dim()}, but those of the indexer of the same "
                f"name are of dimension {vectors.size(-1)}. {remedy}"
            )
