import math
from dataclasses import dataclass
from typing import Any, Dict

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.functional import distinct_vectors, negative_log_likelihoods, unit_vectors
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.vector_head_base import VectorHeadBase
from allennlp_semfit.training.token_averages import TokenAverage

_INITIAL_SCALE = 10.0
_MAX_SCALE = 100.0
# In evaluation, the losses of this many targets are computed at a time.
_CHUNK_SIZE = 1024


@dataclass
class BatchWords:
    """
    The distinct words of a batch, and the targets as indices into them. Indexing selects targets.

    `directions` contains the unit vectors of the words, shape `(num_words, embedding_dim)`.
    `indices` contains the word of each target, or -1 for no target, in any shape.
    """

    directions: torch.Tensor
    indices: torch.Tensor

    def __getitem__(self, index: Any) -> "BatchWords":
        return BatchWords(self.directions, self.indices[index])


@LmHead.register("contrastive")
class ContrastiveHead(VectorHeadBase):
    """
    Distinguishes the pre-trained vector of the next (or previous) word from those of the batch's
    other words: contrastive weight tying (Godey et al. 2024, "Headless Language Models: Learning
    without Predicting with Contrastive Weight Tying", equation 3), or InfoNCE with in-batch
    negatives, with fixed vectors. The loss of a word `v` in the context `c` is

        -log exp(s cos(Wc + b, w_v)) / sum_u exp(s cos(Wc + b, w_u))

    where `u` runs over the distinct words of the batch. Words with the same vector count as the
    same word, and a word with a zero vector is neither target nor negative. The scale `s`, an
    inverse temperature, is learned, up to 100.

    As in the `semfit` head, the cost does not depend on the vocabulary size. The parameters are
    those of one linear map and `s`. Unlike the `semfit` head, this loss penalizes predictions near
    frequent words: if the cosine alone is optimized, the predictions crowd around frequent words
    (Dinu et al. 2015, "Improving Zero-Shot Learning by Mitigating the Hubness Problem").

    In distributed training, each process uses the words of its own batch.

    The metrics are

    - `perplexity`: the perplexity of the target among the words in the loss. It depends on their
      number, and so on the batch size.
    - `cosine` and `baseline_cosine`: as for the `semfit` head.

    Registered as an `LmHead` with name "contrastive".

    # Parameters

    input_dim, embedding_dim, target_embedder, target_indexer
        See [`VectorHeadBase`](../vector_head_base#vectorheadbase).
    max_negatives : `int`, optional (default = `4096`)
        If a batch has more negatives, this many are sampled in each training step, without
        replacement. Cost and memory are proportional to this and to the tokens of a batch.

    # Raises

    `ConfigurationError`
        If `max_negatives` is less than 1; in training, if the words of a batch have fewer than two
        distinct vectors. See also `VectorHeadBase`.

    # Example

    ```json
    "head": {"type": "contrastive", "input_dim": 512, "embedding_dim": 300}
    ```
    """

    def __init__(
        self,
        input_dim: int,
        embedding_dim: int,
        max_negatives: int = 4096,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, embedding_dim, **kwargs)
        check_bounds({"head.max_negatives": max_negatives}, at_least=1)
        self.max_negatives = max_negatives
        # A zero vector has no cosine.
        torch.nn.init.normal_(self.projection.weight)
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(_INITIAL_SCALE)))
        self._loss = TokenAverage()

    @torch.no_grad()
    def prepare_targets(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> BatchWords:
        vectors = self.target_vectors(source, input_vectors)  # (batch_size, length, embedding_dim)
        mask = get_text_field_mask(source)  # (batch_size, length)
        # (num_words, embedding_dim) and (batch_size, length)
        words, indices = distinct_vectors(vectors, mask)
        if self.training and len(words) < 2 and mask[:, 1:].any():
            raise ConfigurationError(
                f"contrastive: a batch has {len(words)} distinct word vectors other than zero, but "
                "the loss compares at least two. Use larger batches (`data_loader.batch_size`) or "
                "other target vectors."
            )
        return BatchWords(unit_vectors(words), indices)

    def forward(self, context: torch.Tensor, targets: BatchWords) -> torch.Tensor:
        (is_target,) = (targets.indices >= 0).nonzero(as_tuple=True)  # (num_targets,)
        targets = targets[is_target]
        # (num_targets, embedding_dim)
        predicted = unit_vectors(self.projection(context[is_target]))
        losses = self._losses(predicted, targets)  # (num_targets,)
        with torch.no_grad():
            directions = targets.directions[targets.indices]  # (num_targets, embedding_dim)
            self._loss(losses)
            self.update_metrics((predicted * directions).sum(-1), directions)
        return losses.sum()

    def _losses(self, predicted: torch.Tensor, targets: BatchWords) -> torch.Tensor:
        """The loss of each target. Shape `(num_targets,)`."""
        if self.training:
            # Clamp the value rather than the gradient, so that the scale can decrease again.
            self.log_scale.data.clamp_(max=math.log(_MAX_SCALE))
        # There are fewer predictions to scale than cosines.
        scaled = self.log_scale.exp() * predicted  # (num_targets, embedding_dim)
        max_negatives = self.max_negatives if self.training else None
        chunk_size = max(len(scaled), 1) if self.training else _CHUNK_SIZE
        # (chunk_size, embedding_dim) and (chunk_size,)
        chunks = zip(scaled.split(chunk_size), targets.indices.split(chunk_size))
        words = targets.directions
        return torch.cat([negative_log_likelihoods(x, words, i, max_negatives) for x, i in chunks])

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        perplexity = math.exp(self._loss.get_metric(reset))
        return {"perplexity": perplexity, **super().get_metrics(reset)}
