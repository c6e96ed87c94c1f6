from typing import Any, Tuple

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.sampled_softmax_loss import SampledSoftmaxLoss

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.softmax_head_base import SoftmaxHeadBase, softmax_losses

# In training, the loss costs this many times as much as the perplexity.
_COST_RATIO = 10


@LmHead.register("sampled_softmax")
class SampledSoftmaxHead(SoftmaxHeadBase):
    """
    The sampled softmax (Jean et al. 2015, "On Using Very Large Target Vocabulary for Neural
    Machine Translation"), the output layer of ELMo: AllenNLP's `SampledSoftmaxLoss`. In training,
    the softmax is taken over the target and a sample of the vocabulary, which all targets of a
    batch share; in evaluation, over the whole vocabulary. The sample is drawn from a log-uniform
    distribution over the indices, so the vocabulary should be sorted by decreasing frequency.

    The training loss is not a log-likelihood. The `perplexity` is always that of the full softmax;
    in training, it is estimated on a random subset of each batch, at a tenth of the loss's cost.

    Registered as an `LmHead` with name "sampled_softmax".

    # Parameters

    vocab : `Vocabulary`
    input_dim : `int`
        The dimension of a context vector.
    num_samples : `int`, optional (default = `8192`)
        The number of words in a sample.
    sparse : `bool`, optional (default = `False`)
        Whether the gradient is sparse. This requires an optimizer such as `dense_sparse_adam`, no
        `grad_norm`, and at most one GPU: NCCL does not support sparse gradients.
    namespace, indexer
        See `softmax`.

    # Raises

    `ConfigurationError`
        If the vocabulary has no such namespace, or `num_samples` is not less than the number of its
        words.

    # Example

    ```json
    "head": {"type": "sampled_softmax", "input_dim": 512, "num_samples": 8192}
    ```
    """

    def __init__(
        self,
        vocab: Vocabulary,
        input_dim: int,
        num_samples: int = 8192,
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, input_dim, **kwargs)
        if not 1 <= num_samples < self.num_classes:
            raise ConfigurationError(
                f"sampled_softmax: `num_samples` is {num_samples}; it must be at least 1 and less "
                f"than the number of words in the vocabulary's namespace {self.namespace!r}, "
                f"{self.num_classes}."
            )
        self.sparse = sparse
        self.softmax = SampledSoftmaxLoss(self.num_classes, input_dim, num_samples, sparse)
        # The perplexity is computed for every n-th word.
        self._stride = max(1, round(_COST_RATIO * self.num_classes / num_samples))

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return super().forward(context, targets)
        # The start is random, so that all words are equally likely.
        start = numpy.random.randint(self._stride)
        with torch.no_grad():
            subset = slice(start, None, self._stride)
            self._negative_log_likelihood(self.losses(context[subset], targets[subset]))
        if len(targets):
            loss: torch.Tensor = self.softmax(context, targets)
            return loss
        # AllenNLP's loss would have no gradient, but `DistributedDataParallel` waits for all.
        return context.sum() if self.sparse else self.losses(context, targets).sum()

    def output_layer(self) -> Tuple[torch.Tensor, torch.Tensor]:
        """The weight, shape `(num_classes, input_dim)`, and the bias, shape `(num_classes,)`."""
        weight, bias = self.softmax.softmax_w, self.softmax.softmax_b
        if isinstance(weight, torch.nn.Embedding):
            return weight.weight, bias.weight.squeeze(1)
        return weight, bias

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return softmax_losses(context, targets, *self.output_layer())
