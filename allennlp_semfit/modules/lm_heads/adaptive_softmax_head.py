from typing import Any, List

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.softmax_head_base import SoftmaxHeadBase


@LmHead.register("adaptive_softmax")
class AdaptiveSoftmaxHead(SoftmaxHeadBase):
    """
    The adaptive softmax (Grave et al. 2017, "Efficient softmax approximation for GPUs"), the output
    layer of ELMo-A: PyTorch's `AdaptiveLogSoftmaxWithLoss`. The most frequent words are predicted
    directly. The others are predicted in two steps: first the cluster, then the word in it. The
    rarer the words of a cluster, the lower the dimension of their vectors.

    The head is fast only if the vocabulary is sorted by decreasing frequency, as those
    that AllenNLP counts are.

    Registered as an `LmHead` with name "adaptive_softmax".

    # Parameters

    vocab : `Vocabulary`
    input_dim : `int`
        The dimension of a context vector.
    cutoffs : `List[int]`
        The index at which each cluster after the first starts. With `[2000, 10000]` there are
        three: the 2,000 most frequent words, the next 8,000 and the rest.
    div_value : `float`, optional (default = `4.0`)
        The dimension of the vectors is divided by this from each cluster to the next.
    head_bias : `bool`, optional (default = `False`)
        Whether the most frequent words and the clusters have a bias.
    namespace, indexer
        See `softmax`.

    # Raises

    `ConfigurationError`
        If the vocabulary has no such namespace, or the cutoffs are not increasing or exceed the
        vocabulary size.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, input_dim, **kwargs)
        try:
            self.softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(
                input_dim, self.num_classes, cutoffs, div_value, head_bias
            )
        except ValueError as error:
            message = (
                f"adaptive_softmax: `cutoffs` is {cutoffs}, and the vocabulary's namespace "
                f"{self.namespace!r} has {self.num_classes} words: {error}"
            )
            raise ConfigurationError(message) from error

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        loss = super().forward(context, targets)
        if self.training and is_distributed():
            # DistributedDataParallel needs a gradient for every parameter, but PyTorch skips the
            # clusters that no target of the batch belongs to.
            ends = self.softmax.cutoffs
            for tail, start, end in zip(self.softmax.tail, ends, ends[1:]):
                if not ((targets >= start) & (targets < end)).any():
                    loss = loss + tail(context[:0]).sum()
        return loss

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        # PyTorch writes the log-likelihoods into a tensor of the context's type. Under autocast,
        # they are float32 on a GPU, so convert the context; on a CPU, disable autocast.
        with torch.autocast("cpu", enabled=False):
            return -self.softmax(context.to(self.softmax.head.weight), targets).output
