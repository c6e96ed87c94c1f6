import logging
from typing import Any, Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, EmptyEmbedder
from allennlp.nn import InitializerApplicator

from allennlp_semfit.archives.language_model_archive import LanguageModelArchive
from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.common.errors import check_dims
from allennlp_semfit.functional import vectors_differ
from allennlp_semfit.modules.lm_heads.lm_head import LmHead

logger = logging.getLogger(__name__)


class LanguageModelBase(Model, NamesConfigKey):
    """
    A base class for language models with any output layer. See `bidirectional_lm` for the
    parameters.
    """

    default_predictor = "language_model_vectors"

    name: str
    """The registered name."""

    boundary_vector: torch.Tensor

    num_directions: int
    """The number of equal parts of the contextualizer's output. The head reads each part."""

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        contextualizer: Seq2SeqEncoder,
        head: LmHead,
        initializer: InitializerApplicator = None,
        pretrained_file: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        self._text_field_embedder = text_field_embedder
        self._contextualizer = contextualizer
        self._head = head
        # The input vector of the first boundary token in training.
        self.register_buffer("boundary_vector", torch.zeros(text_field_embedder.get_output_dim()))
        self._has_boundary_vector = False
        self._check_compatible()
        head.tie_weights(text_field_embedder)
        self._add_parameters()
        if initializer is not None:
            initializer(self)
        if pretrained_file is not None:
            LanguageModelArchive.open(pretrained_file).load_weights(
                self,
                "Use the `model` of the archive's `config.json`, as "
                "training_config/continue.jsonnet does.",
            )

    def _add_parameters(self) -> None:
        """Adds parameters of a subclass, before the initializer and `pretrained_file`."""

    def _embed(self, source: TextFieldTensors) -> torch.Tensor:
        """
        Returns the input vectors, of shape `(batch_size, length, embedding_dim)`. Stores the first
        vector of the first training batch, and raises a `ConfigurationError` if it differs when
        training is resumed or continued, or the model is evaluated.
        """
        embeddings = self._text_field_embedder(source)
        self._check_boundary_vector(embeddings)
        return embeddings

    def _check_boundary_vector(self, embeddings: torch.Tensor) -> None:
        if self._has_boundary_vector:
            return
        self._has_boundary_vector = self.training or bool(self.boundary_vector.any())
        first = embeddings[:, 0].detach()
        # Without start tokens, sentences start with different words.
        if not torch.equal(first, first[:1].expand_as(first)):
            return
        if not self.boundary_vector.any():
            if self.training:
                self.boundary_vector.copy_(first[0])
        # The vectors of embedders with parameters are in the archive, or are trained.
        elif not [*self._text_field_embedder.parameters()] and vectors_differ(
            first[0], self.boundary_vector
        ):
            raise ConfigurationError(
                f"{self.name}: the word vectors are not those of the model's training. "
                "Restore the file that it was trained with, or train a new model."
            )

    def _check_finite(self, loss: torch.Tensor) -> torch.Tensor:
        """Returns the loss of a batch; in training, raises a `ConfigurationError` if not finite."""
        if self.training and not loss.isfinite():
            raise ConfigurationError(
                f"{self.name}: the loss of a batch is {loss.item()}, so the training has diverged. "
                "Lower the learning rate (`trainer.optimizer.lr`, or the `trainer."
                "learning_rate_scheduler`'s), or set `trainer.grad_norm`, and train again."
            )
        return loss

    def num_layers(self) -> int:
        """The number of layers in the representation: the contextualizer's and its input."""
        return int(self._contextualizer.num_layers) + 1  # type: ignore[arg-type]

    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """
        Keeps the outputs that have a batch dimension: the layers, the input vectors and the mask.
        Stacks a list of layers: shape `(batch_size, num_layers(), length, dim)`.
        """
        names = ("lm_embeddings", "noncontextual_token_embeddings", "mask")
        outputs = {name: output_dict[name] for name in names if name in output_dict}
        layers = outputs.get("lm_embeddings")
        if isinstance(layers, (list, tuple)):
            outputs["lm_embeddings"] = torch.stack(layers, dim=1)
        return outputs

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self._head.get_metrics(reset)

    def _check_compatible(self) -> None:
        embedders = getattr(self._text_field_embedder, "_token_embedders", {})
        names = [name for name, each in embedders.items() if not isinstance(each, EmptyEmbedder)]
        if len(names) > 1:
            logger.warning(
                "%s: the text_field_embedder reads %s. The model can be trained and evaluated, but "
                "not used as an embedder, which has one input.",
                self.name,
                " and ".join(names),
            )
        for name, module in self.named_modules():
            # Padding and unknown words have a vector in any vocabulary.
            if isinstance(module, Embedding) and module.num_embeddings <= 2:
                key = name.removeprefix("_").replace("token_embedder_", "token_embedders.")
                raise ConfigurationError(
                    f"{self.name}: the vocabulary has no words for `{key}`, so all "
                    "would have the same vector. Set the config's `vocabulary`, as training_config/"
                    "language_models/elmo_semfit_svd_input.jsonnet does, or correct the "
                    "embedding's `vocab_namespace`."
                )
        for attribute in ("return_all_layers", "num_layers"):
            if not hasattr(self._contextualizer, attribute):
                raise ConfigurationError(
                    f"{self.name}: the `contextualizer` is a "
                    f"{type(self._contextualizer).__name__}, which has no `{attribute}`, so it "
                    "cannot return all its layers. Use `bidirectional_language_model_lstm`, or "
                    "wrap an encoder that can in `bidirectional_language_model_adapter`."
                )
        embedding_dim = self._text_field_embedder.get_output_dim()
        context_dim = self._contextualizer.get_output_dim() // self.num_directions
        embeddings = f"{self.name}: the text_field_embedder's output"
        contexts = f"{self.name}: the contextualizer's output"
        if self.num_directions > 1:
            contexts = f"{self.name}: each direction of the contextualizer (`hidden_dim`)"
        input_dim = self._contextualizer.get_input_dim()
        check_dims(embeddings, embedding_dim, "the contextualizer's `input_dim`", input_dim)
        check_dims(contexts, context_dim, "the head's `input_dim`", self._head.input_dim)
        target_dim = self._head.get_target_dim()
        if target_dim is not None:
            check_dims(embeddings, embedding_dim, "the head's `embedding_dim`", target_dim)
            if any(parameter.requires_grad for parameter in self._text_field_embedder.parameters()):
                raise ConfigurationError(
                    f"{self.name}: the head's targets are the text_field_embedder's vectors, but "
                    "these are trainable, so they would become trivial to predict. Use an embedder "
                    "without trainable parameters, such as `fasttext`."
                )
