from typing import Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import TextFieldTensors
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenEmbedder
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.modules.lm_heads.distances import CosineDistance, Distance, cosine
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.target_whitening import TargetWhitening
from allennlp_semfit.modules.token_embedders.cached_embedder import CachedEmbedder
from allennlp_semfit.training.metrics.token_averages import BaselineCosine, TokenAverage

__all__ = ["SemfitHead"]


@LmHead.register("semfit")
class SemfitHead(LmHead):
    """
    Predicts the pre-trained vector of the next (or previous) word. The loss is the distance to it:
    Li et al. 2019, "Efficient Contextual Representation Learning Without Softmax Layer", section 3,
    equation 3. Its cost does not depend on the vocabulary size. The only trainable parameters are
    those of one linear map from the context's dimension to the vectors'.

    The targets are the model's own input vectors, which must be frozen, or those of a
    `target_embedder`. This can be any embedder whose vector depends on nothing but the word:
    `fasttext`, `elmo_character_cnn`, an `embedding` with a `pretrained_file` in text or word2vec
    format or, as a control, an `embedding` without one, whose vectors are random.

    The context is divided by the square root of its dimension before the linear map, as in the
    parametrisation of Jacot et al. 2018, "Neural Tangent Kernel". Otherwise the first updates of an
    optimizer such as Adam would be too large, because the layer norm of the contextualizer makes
    long vectors.

    The weights start at zero. The first training batch sets the bias to
    `Distance.initial_prediction`, which is the best constant prediction or close to it, unless a
    checkpoint or an `initializer` has set it. Without this, the contextualizer would have to learn
    what all word vectors have in common.

    A distance gives no perplexity (section 4.3 of the paper). The metrics are, for any distance:

    - `cosine`: the mean cosine of prediction and target.
    - `baseline_cosine`: the mean cosine of the best constant prediction and the targets. The
      difference of the two is what the model has learned from the context.

    Registered as an `LmHead` with name "semfit", the default.

    # Parameters

    input_dim : `int`
        The dimension of a context vector.
    embedding_dim : `int`
        The dimension of the target vectors.
    distance : `Distance`, optional (default = `CosineDistance()`)
    target_embedder : `TokenEmbedder`, optional (default = `None`)
        Embeds the targets. It must be frozen. By default, they are the model's input vectors.
    target_indexer : `str`, optional (default = `None`)
        The name of the indexer, in the reader's `token_indexers`, that the target embedder reads.
        If the model's input does not, its `text_field_embedder` has `{"type": "empty"}` for it.
    target_cache_size : `int`, optional (default = `100000`)
        The number of words whose target vectors are cached if the target embedder computes them:
        see `CachedEmbedder`. With 512 dimensions, the default takes up to 205 MB.
    whiten_targets : `bool`, optional (default = `False`)
        Whether to whiten the targets first, which the paper does not do: see `TargetWhitening`. The
        training text must then be in random order.

    # Raises

    `ConfigurationError`
        If the target embedder is trainable or its dimension is not `embedding_dim`, or if it comes
        without a `target_indexer`; in training, if there is no such indexer.

    # Example

    ```json
    "head": {"type": "semfit", "input_dim": 512, "embedding_dim": 300, "distance": "cosine"}
    ```

    With targets of its own, where the reader's `token_indexers` have a `single_id` named "tokens":

    ```json
    "head": {
        "type": "semfit", "input_dim": 512, "embedding_dim": 300,
        "target_embedder": {
            "type": "embedding", "embedding_dim": 300, "pretrained_file": "glove.txt",
            "trainable": false
        },
        "target_indexer": "tokens"
    }
    ```
    """

    def __init__(
        self,
        input_dim: int,
        embedding_dim: int,
        distance: Optional[Distance] = None,
        target_embedder: Optional[TokenEmbedder] = None,
        target_indexer: Optional[str] = None,
        target_cache_size: int = 100_000,
        whiten_targets: bool = False,
    ) -> None:
        super().__init__(input_dim)
        self.embedding_dim = embedding_dim
        self.projection = _ScaledLinear(input_dim, embedding_dim)
        self._bias_initialized = False
        self.distance = distance or CosineDistance()
        self.target_indexer = target_indexer
        self.target_embedder: Optional[BasicTextFieldEmbedder] = None
        if (target_embedder is None) != (target_indexer is None):
            raise ConfigurationError(
                "semfit: `target_embedder` and `target_indexer` go together; the second names the "
                "indexer, in the reader's `token_indexers`, that the first reads."
            )
        if target_embedder is not None and target_indexer is not None:
            _check_target_embedder(target_embedder, embedding_dim)
            computes = any(True for _ in target_embedder.parameters())
            if computes and not isinstance(target_embedder, (Embedding, CachedEmbedder)):
                target_embedder = CachedEmbedder(target_embedder, target_cache_size)
            self.target_embedder = BasicTextFieldEmbedder({target_indexer: target_embedder})
        self.whitening = TargetWhitening(embedding_dim) if whiten_targets else None
        self._cosine = TokenAverage()
        self._baseline_cosine = BaselineCosine()

    def train(self, mode: bool = True) -> "SemfitHead":
        super().train(mode)
        if self.target_embedder is not None:
            self.target_embedder.eval()
        return self

    def get_target_dim(self) -> Optional[int]:
        return self.embedding_dim if self.target_embedder is None else None

    def targets(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> torch.Tensor:
        vectors = self._target_vectors(source, input_vectors)
        if self.whitening is None:
            return vectors
        if self.training:
            self.whitening.update(vectors, get_text_field_mask(source))
        return self.whitening(vectors)

    @torch.no_grad()
    def _target_vectors(
        self, source: TextFieldTensors, input_vectors: torch.Tensor
    ) -> torch.Tensor:
        if self.target_embedder is None:
            return input_vectors.detach()
        if self.target_indexer not in source:
            raise ConfigurationError(
                f"semfit: `target_indexer` is {self.target_indexer!r}, but the reader's "
                f"`token_indexers` are {sorted(source)}. Add it there and, if the model is not to "
                'read it, {"type": "empty"} of the same name to the `token_embedders`.'
            )
        return self.target_embedder({self.target_indexer: source[self.target_indexer]})

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if self.training and not self._bias_initialized:
            self._initialize_bias(targets)
        predicted = self.projection(context)
        with torch.no_grad():
            self._cosine(-cosine(predicted, targets))
            self._baseline_cosine(targets)
        return self.distance(predicted, targets).sum()

    @torch.no_grad()
    def _initialize_bias(self, targets: torch.Tensor) -> None:
        """Sets the bias, unless it was loaded; to the same value in all processes."""
        if self.projection.bias.any():
            self._bias_initialized = True
            return
        # A vector of zeros has no direction: that of a word without any known n-gram.
        targets = targets[targets.any(dim=-1)].float()
        directions = torch.nn.functional.normalize(targets, dim=-1)
        count = targets.new_tensor([len(targets)])
        sums = torch.cat([targets.sum(0), directions.sum(0), count])
        if is_distributed():
            torch.distributed.all_reduce(sums)
        if sums[-1] == 0:
            return
        mean_target, mean_direction = (sums[:-1] / sums[-1]).chunk(2)
        self.projection.bias.copy_(self.distance.initial_prediction(mean_target, mean_direction))
        self._bias_initialized = True

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return {
            "cosine": self._cosine.get_metric(reset),
            "baseline_cosine": self._baseline_cosine.get_metric(reset),
        }


class _ScaledLinear(torch.nn.Linear):
    """A linear map, zero at first, of the input divided by the square root of its dimension."""

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.weight)
        torch.nn.init.zeros_(self.bias)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input * self.in_features**-0.5)


def _check_target_embedder(target_embedder: TokenEmbedder, embedding_dim: int) -> None:
    if target_embedder.get_output_dim() != embedding_dim:
        raise ConfigurationError(
            f"semfit: the `target_embedder` gives vectors of dimension "
            f"{target_embedder.get_output_dim()}, but the head's `embedding_dim` is "
            f"{embedding_dim}; set it to {target_embedder.get_output_dim()}."
        )
    if any(parameter.requires_grad for parameter in target_embedder.parameters()):
        raise ConfigurationError(
            f"semfit: the `target_embedder` is a {type(target_embedder).__name__} with trainable "
            "parameters; its vectors would drift to where they are easy to predict. Freeze it: an "
            '`embedding` with "trainable": false.'
        )
