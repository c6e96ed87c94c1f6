from typing import List

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary

from allennlp_semfit.modules.lm_heads.frequency_order import FrequencyOrder
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.softmax_head_base import SoftmaxHeadBase

__all__ = ["AdaptiveSoftmaxHead"]


@LmHead.register("adaptive_softmax")
class AdaptiveSoftmaxHead(SoftmaxHeadBase):
    """
    The adaptive softmax (Grave et al. 2017, "Efficient softmax approximation for GPUs"), the output
    layer of ELMo-A: the most frequent words are predicted at once; the others in two steps, first
    their cluster, then the word by a vector that is shorter the rarer the cluster is. It is
    PyTorch's `AdaptiveLogSoftmaxWithLoss`.

    The vocabulary must be in falling order of frequency, as `allennlp count-vocabulary` makes it.
    Whether it is, the first 10,000 words to predict in training tell.

    Registered as an `LmHead` with name "adaptive_softmax".

    # Parameters

    vocab : `Vocabulary`
    input_dim : `int`
        The dimension of a context vector.
    cutoffs : `List[int]`
        The number of words before each cluster but the first, which is the one of the most
        frequent words. With `[2000, 10000]` there are three: 2,000 words, 8,000 and the rest.
    div_value : `float`, optional (default = `4.0`)
        The vectors of each cluster are so many times as short as those of the one before.
    head_bias : `bool`, optional (default = `False`)
        Whether the most frequent words and the clusters have a bias.
    namespace : `str`, optional (default = `"tokens"`)
        The vocabulary's namespace.
    indexer : `str`, optional (default = `"tokens"`)
        The name of the indexer that gives the words as indices of the namespace.

    # Raises

    `ConfigurationError`
        If the vocabulary has no such namespace, the cutoffs do not rise or pass the vocabulary's
        size, or `div_value` leaves a cluster vectors of no dimension; in training, if the
        vocabulary is not in falling order of frequency.

    # Example

    ```json
    "head": {
        "type": "adaptive_softmax", "input_dim": 512, "cutoffs": [20000, 100000], "div_value": 2.0
    }
    ```
    """

    def __init__(
        self,
        vocab: Vocabulary,
        input_dim: int,
        cutoffs: List[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        namespace: str = "tokens",
        indexer: str = "tokens",
    ) -> None:
        super().__init__(vocab, input_dim, namespace, indexer)
        if not cutoffs or any(low >= high for low, high in zip([0, *cutoffs], cutoffs)):
            raise ConfigurationError(
                f"adaptive_softmax: `cutoffs` is {cutoffs}; it takes at least one number, each "
                "greater than the one before, the first greater than 0."
            )
        if cutoffs[-1] >= self.num_classes:
            raise ConfigurationError(
                f"adaptive_softmax: the last of the `cutoffs` {cutoffs} must be less than the "
                f"number of words in the vocabulary's namespace {namespace!r}, {self.num_classes}."
            )
        smallest_dim = input_dim // div_value ** len(cutoffs) if div_value > 0 else 0
        if smallest_dim < 1:
            raise ConfigurationError(
                f"adaptive_softmax: with the `div_value` {div_value} and {len(cutoffs)} cutoffs "
                f"nothing is left of an `input_dim` of {input_dim} for the rarest words. Take a "
                "smaller `div_value`, greater than 0, or fewer cutoffs."
            )
        self.softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(
            input_dim, self.num_classes, cutoffs, div_value, head_bias
        )
        self._order = FrequencyOrder(f"adaptive_softmax: the vocabulary's namespace {namespace!r}")

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        loss = super().forward(context, targets)
        if self.training and is_distributed():
            # Each process must have a gradient for each parameter, and PyTorch's softmax leaves out
            # the clusters of which the batch has no word.
            ends = self.softmax.cutoffs
            for tail, start, end in zip(self.softmax.tail, ends, ends[1:]):
                if not ((targets >= start) & (targets < end)).any():
                    loss = loss + tail(context[:0]).sum()
        return loss

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if self.training:
            self._order.check(targets)
        # In mixed precision its log-likelihoods have single precision on a GPU, and must on a CPU,
        # and it puts them into a tensor of the context's precision.
        with torch.autocast("cpu", enabled=False):
            return -self.softmax(context.to(self.softmax.head.weight), targets).output
