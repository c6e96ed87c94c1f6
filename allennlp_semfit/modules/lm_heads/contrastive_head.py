import math
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors
from allennlp.modules.token_embedders import TokenEmbedder
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.modules.kernels.products import linear
from allennlp_semfit.modules.lm_heads.distances import predicted_direction, upcast_half
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.vector_head_base import ScaledLinear, VectorHeadBase
from allennlp_semfit.training.token_averages import BaselineCosine, TokenAverage

__all__ = ["BatchWords", "ContrastiveHead"]

_INITIAL_SCALE = 10.0
_MAX_SCALE = 100.0
# In evaluation, targets at a time.
_CHUNK_SIZE = 1024


@dataclass
class BatchWords:
    """
    The distinct words of a batch and, as the targets, their numbers. An index selects targets.

    # Parameters

    directions : `torch.Tensor`
        The vectors of the words, of unit norm. Shape `(num_words, embedding_dim)`.
    indices : `torch.Tensor`
        The numbers of the words, or -1 for what is no target. Shape `(...)`.
    """

    directions: torch.Tensor
    indices: torch.Tensor

    def __getitem__(self, index: Any) -> "BatchWords":
        return BatchWords(self.directions, self.indices[index])

    def __len__(self) -> int:
        return len(self.indices)


@LmHead.register("contrastive")
class ContrastiveHead(VectorHeadBase):
    """
    Tells the pre-trained vector of the next (or previous) word from those of the batch's other
    words: contrastive weight tying (Godey et al. 2024, "Headless Language Models: Learning without
    Predicting with Contrastive Weight Tying", equation 3), with fixed vectors. The loss of a word
    `v` in the context `c` is

        -log exp(s cos(Wc + b, w_v)) / sum_u exp(s cos(Wc + b, w_u))

    where `u` runs over the distinct words of the batch, each once, so that no word is its own
    negative. Words with the same vector are the same word, and one with a vector of zeros is
    neither target nor negative. The scale `s` is learned, up to 100.

    Like that of the `semfit` head, the cost does not depend on the vocabulary, and the parameters
    are those of one linear map, a [`ScaledLinear`](../vector_head_base#scaledlinear), and `s`. In
    contrast to it, a prediction near a frequent word is not free: where the cosine alone is
    optimised, the predictions crowd around frequent words (Dinu et al. 2015, "Improving Zero-Shot
    Learning by Mitigating the Hubness Problem").

    In distributed training, each process uses the words of its own batch.

    The metrics are

    - `perplexity`: that of the target among the words that the loss is over. It depends on their
      number, and so on the batch size.
    - `cosine` and `baseline_cosine`: as for the `semfit` head.

    Registered as an `LmHead` with name "contrastive".

    # Parameters

    input_dim : `int`
        The dimension of a context vector.
    embedding_dim : `int`
        The dimension of the target vectors.
    target_embedder, target_indexer, target_cache_size, center_targets, whiten_targets
        See [`VectorHeadBase`](../vector_head_base#vectorheadbase).
    max_negatives : `int`, optional (default = `4096`)
        If a batch has more other words, as many of them are drawn in each training step, without
        replacement. Cost and memory are proportional to it and to the tokens of a batch.

    # Raises

    `ConfigurationError`
        If `max_negatives` is less than 1, and for the targets as `VectorHeadBase`; in training, if
        the words of a batch have fewer than two distinct vectors.

    # Example

    ```json
    "head": {"type": "contrastive", "input_dim": 512, "embedding_dim": 300, "center_targets": true}
    ```
    """

    name = "contrastive"

    def __init__(
        self,
        input_dim: int,
        embedding_dim: int,
        target_embedder: Optional[TokenEmbedder] = None,
        target_indexer: Optional[str] = None,
        target_cache_size: int = 100_000,
        center_targets: bool = False,
        whiten_targets: bool = False,
        max_negatives: int = 4096,
    ) -> None:
        super().__init__(
            input_dim,
            embedding_dim,
            target_embedder,
            target_indexer,
            target_cache_size,
            center_targets,
            whiten_targets,
        )
        if max_negatives < 1:
            raise ConfigurationError(
                f"contrastive: `max_negatives` is {max_negatives}; it must be at least 1."
            )
        self.max_negatives = max_negatives
        self.projection = ScaledLinear(input_dim, embedding_dim)
        # A zero vector has no cosine.
        torch.nn.init.normal_(self.projection.weight)
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(_INITIAL_SCALE)))
        self._loss = TokenAverage()
        self._cosine = TokenAverage()
        self._baseline_cosine = BaselineCosine()

    @torch.no_grad()
    def targets(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> BatchWords:
        vectors = self.target_vectors(source, input_vectors)
        mask = get_text_field_mask(source)
        is_word = mask & vectors.any(dim=-1)
        words, numbers = _distinct(vectors[is_word])
        if self.training and len(words) < 2 and mask[:, 1:].any():
            raise ConfigurationError(
                f"contrastive: a batch has {len(words)} distinct word vectors other than zero, but "
                "the loss compares at least two. Use larger batches (`data_loader.batch_size`) or "
                "other target vectors."
            )
        if self.target_transform is not None:
            words = self.target_transform(words)
        directions = torch.nn.functional.normalize(upcast_half(words), dim=-1)
        indices = torch.full_like(mask, -1, dtype=torch.long)
        indices[is_word] = numbers
        return BatchWords(directions, indices)

    def forward(self, context: torch.Tensor, targets: BatchWords) -> torch.Tensor:
        (is_target,) = (targets.indices >= 0).nonzero(as_tuple=True)
        targets = targets[is_target]
        predicted = predicted_direction(self.projection(context[is_target]))
        with torch.autocast(context.device.type, enabled=False):
            losses = self._losses(predicted, targets)
        with torch.no_grad():
            directions = targets.directions[targets.indices]
            self._loss(losses)
            self._cosine((predicted * directions).sum(-1))
            self._baseline_cosine(directions)
        return losses.sum()

    def _losses(self, predicted: torch.Tensor, targets: BatchWords) -> torch.Tensor:
        """The loss of each target. Shape `(N,)`."""
        if self.training:
            # A gradient still lowers it from there.
            self.log_scale.data.clamp_(max=math.log(_MAX_SCALE))
        # Not the cosines, which are more values than the predictions.
        scaled = self.log_scale.exp() * predicted
        words = targets.directions.to(scaled.dtype)
        if not self.training:
            chunks = zip(scaled.split(_CHUNK_SIZE), targets.indices.split(_CHUNK_SIZE))
            losses = [_losses_among(words, *chunk) for chunk in chunks]
            return torch.cat(losses) if losses else scaled.new_zeros(0)
        if len(words) - 1 <= self.max_negatives:
            return _losses_among(words, scaled, targets.indices)
        drawn = torch.randperm(len(words), device=words.device)[: self.max_negatives]
        logits = linear(scaled, words[drawn])
        own = (scaled * words[targets.indices]).sum(-1)
        # Without the target itself, whose term is added below.
        logits = logits.masked_fill(drawn == targets.indices.unsqueeze(-1), -math.inf)
        return torch.logaddexp(own, logits.logsumexp(-1)) - own

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return {
            "perplexity": math.exp(self._loss.get_metric(reset)),
            "cosine": self._cosine.get_metric(reset),
            "baseline_cosine": self._baseline_cosine.get_metric(reset),
        }


def _losses_among(words: torch.Tensor, scaled: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(linear(scaled, words), indices, reduction="none")


def _distinct(vectors: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    # Parameters

    vectors : `torch.Tensor`
        Shape `(num_tokens, dim)`.

    # Returns

    `Tuple[torch.Tensor, torch.Tensor]`
        The distinct vectors, shape `(num_words, dim)`, and the number of each token's word, shape
        `(num_tokens,)`.
    """
    # `torch.unique` of vectors sorts them, which is slow, so compare a random linear function of
    # their bits, which hardly ever has the same 64 bits for two words. 0 is to be the same as -0.
    bits = (upcast_half(vectors) + 0.0).contiguous().view(torch.int32).long()
    generator = torch.Generator().manual_seed(1)
    weights = torch.randint(-(1 << 62), 1 << 62, (bits.size(1),), generator=generator) * 2 + 1
    keys, numbers = (bits * weights.to(bits.device)).sum(-1).unique(return_inverse=True)
    first = numbers.new_empty(len(keys))
    first[numbers] = torch.arange(len(numbers), device=numbers.device)
    return vectors[first], numbers
