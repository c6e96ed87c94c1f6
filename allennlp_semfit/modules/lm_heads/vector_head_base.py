import logging
from typing import Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenEmbedder

from allennlp_semfit.common.errors import check_dims
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.token_embedders.cached_embedder import CachedEmbedder
from allennlp_semfit.training.token_averages import TokenAverage

logger = logging.getLogger(__name__)

HIGH_BASELINE = 0.9
"""Above this `baseline_cosine`, the targets are nearly the same."""


class VectorHeadBase(LmHead):
    """
    An output layer whose targets are fixed word vectors: the model's own input vectors, which must
    be frozen, or those of a `target_embedder`. This can be any embedder that does not depend on the
    context: `fasttext`, `elmo_character_cnn`, an `embedding` with a `pretrained_file` in text or
    word2vec format or, as a control, an `embedding` with random vectors.

    The prediction is `W c / sqrt(input_dim) + b`, with the `weight` and `bias` of `projection`.

    # Parameters

    input_dim : `int`
        The dimension of a context vector.
    embedding_dim : `int`
        The dimension of the target vectors.
    target_embedder : `TokenEmbedder`, optional (default = `None`)
        Embeds the targets, which by default are the model's input vectors. It must be frozen. If it
        computes vectors, those of 100,000 words are cached: see `CachedEmbedder`. An `embedding`
        has random vectors for words that its `pretrained_file` lacks, so limit the vocabulary to
        the words of the file.
    target_indexer : `str`, optional (default = `None`)
        The name of the indexer, in the reader's `token_indexers`, that the target embedder reads.
        If the model's input does not read this indexer, add `{"type": "empty"}` under this name to
        the `text_field_embedder`.

    # Raises

    `ConfigurationError`
        If the target embedder is trainable or its dimension is not `embedding_dim`, or if only one
        of `target_embedder` and `target_indexer` is given; in training, if the reader lacks the
        indexer.
    """

    def __init__(
        self,
        input_dim: int,
        embedding_dim: int,
        target_embedder: Optional[TokenEmbedder] = None,
        target_indexer: Optional[str] = None,
    ) -> None:
        super().__init__(input_dim)
        self.embedding_dim = embedding_dim
        self.projection = ScaledLinear(input_dim, embedding_dim)
        self._cosine = TokenAverage()
        self._baseline_cosine = TokenAverage()
        self._baseline_is_checked = False
        self.target_indexer = target_indexer
        self.target_embedder: Optional[BasicTextFieldEmbedder] = None
        if (target_embedder is None) != (target_indexer is None):
            raise ConfigurationError(
                "head: give both `target_embedder` and `target_indexer`, or neither; "
                "`target_indexer` names the indexer, in the reader's `token_indexers`, that the "
                "`target_embedder` reads."
            )
        if target_embedder is not None and target_indexer is not None:
            self._check_target_embedder(target_embedder)
            computes = any(True for _ in target_embedder.parameters())
            if computes and not isinstance(target_embedder, (Embedding, CachedEmbedder)):
                target_embedder = CachedEmbedder(target_embedder)
            self.target_embedder = BasicTextFieldEmbedder({target_indexer: target_embedder})

    def get_target_dim(self) -> Optional[int]:
        return self.embedding_dim if self.target_embedder is None else None

    @torch.no_grad()
    def target_vectors(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> torch.Tensor:
        """
        The vectors of the words, shape `(batch_size, length, embedding_dim)`.
        """
        if self.target_embedder is None:
            return input_vectors.detach()
        if self.target_indexer in source:
            return self.target_embedder({self.target_indexer: source[self.target_indexer]})
        raise ConfigurationError(
            f"head: `target_indexer` is {self.target_indexer!r}, but the reader's "
            f"`token_indexers` are {sorted(source)}. Add it there and, if the model does not "
            'read it, {"type": "empty"} under the same name to the `token_embedders`.'
        )

    def update_metrics(self, cosines: torch.Tensor, directions: torch.Tensor) -> None:
        """
        Adds the cosines of predictions and targets, shape `(N,)`, and the targets' directions,
        shape `(N, embedding_dim)`.
        """
        self._cosine(cosines)
        self._baseline_cosine(directions)
        if self.training and not self._baseline_is_checked:
            self._baseline_is_checked = True
            baseline = self._baseline_cosine.get_metric()
            if baseline > HIGH_BASELINE:
                logger.warning(
                    "The target vectors are nearly the same: in the first batch, a constant vector "
                    "has a mean cosine of %.3f with them. If fastText trained them, it has read "
                    "too little text. Train it with more passes: allennlp train-fasttext TEXT "
                    "VECTORS.bin --dim %d --epoch 200 --force",
                    baseline,
                    self.embedding_dim,
                )

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return {
            "cosine": self._cosine.get_metric(reset),
            "baseline_cosine": self._baseline_cosine.get_metric(reset),
        }

    def _check_target_embedder(self, target_embedder: TokenEmbedder) -> None:
        target_dim = target_embedder.get_output_dim()
        target = "head: the output of the `target_embedder`"
        check_dims(target, target_dim, "the head's `embedding_dim`", self.embedding_dim)
        if any(parameter.requires_grad for parameter in target_embedder.parameters()):
            raise ConfigurationError(
                f"head: the `target_embedder` is a {type(target_embedder).__name__} with "
                "trainable parameters; its vectors would drift to where they are easy to predict. "
                'Freeze it: an `embedding` with "trainable": false.'
            )


class ScaledLinear(torch.nn.Linear):
    """
    A linear map that starts at zero and divides its input by the square root of its dimension, as
    in the parametrization of Jacot et al. 2018, "Neural Tangent Kernel". Otherwise the first
    steps of an optimizer such as Adam would be too large, because the contextualizer's layer norm
    yields long vectors.
    """

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.weight)
        torch.nn.init.zeros_(self.bias)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input * self.in_features**-0.5)
