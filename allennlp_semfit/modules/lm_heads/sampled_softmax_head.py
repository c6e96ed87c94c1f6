from typing import Tuple

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary
from allennlp.modules.sampled_softmax_loss import SampledSoftmaxLoss

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.softmax_head_base import SoftmaxHeadBase, softmax_losses

__all__ = ["SampledSoftmaxHead", "log_uniform_sample"]

# What the perplexity may cost in training: of the sampled softmax's products, one in so many.
_COST_OF_PERPLEXITY = 10


@LmHead.register("sampled_softmax")
class SampledSoftmaxHead(SoftmaxHeadBase):
    """
    The sampled softmax (Jean et al. 2015, "On Using Very Large Target Vocabulary for Neural
    Machine Translation"), ELMo's own output layer: in training, the words of a batch compete with a
    sample of the vocabulary, the same for all of them; in evaluation, with all of it. It is
    AllenNLP's `SampledSoftmaxLoss`, whose sample is drawn as log-uniform in a word's place in the
    vocabulary, so that this should be in falling order of frequency.

    The loss in training is that of the sample, and no likelihood. The `perplexity` is that of the
    whole softmax in training too: there, of a few words of each batch, taken at random, at a tenth
    of the sampled softmax's cost.

    Registered as an `LmHead` with name "sampled_softmax".

    # Parameters

    vocab : `Vocabulary`
    input_dim : `int`
        The dimension of a context vector.
    num_samples : `int`, optional (default = `8192`)
        The words in a sample.
    sparse : `bool`, optional (default = `False`)
        Whether the gradient has the batch's words and the sample's only. It then wants an optimizer
        such as `dense_sparse_adam`, no `grad_norm` on a CPU, and one GPU, not several.
    namespace : `str`, optional (default = `"tokens"`)
        The vocabulary's namespace.
    indexer : `str`, optional (default = `"tokens"`)
        The name of the indexer that gives the words as indices of the namespace.

    # Raises

    `ConfigurationError`
        If the vocabulary has no such namespace, or not more words than there are samples; in
        training if `sparse`, and processes exchange gradients by NCCL, which has no sparse ones.

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
        namespace: str = "tokens",
        indexer: str = "tokens",
    ) -> None:
        super().__init__(vocab, input_dim, namespace, indexer)
        if not 1 <= num_samples < self.num_classes:
            raise ConfigurationError(
                f"sampled_softmax: `num_samples` is {num_samples}; it takes 1 or more, and less "
                f"than there are words in the vocabulary's namespace {namespace!r}, "
                f"{self.num_classes}."
            )
        self.sparse = sparse
        self.softmax = SampledSoftmaxLoss(self.num_classes, input_dim, num_samples, sparse)
        # AllenNLP's own draws the same, one by one.
        self.softmax.choice_func = log_uniform_sample
        self._every = max(1, round(_COST_OF_PERPLEXITY * self.num_classes / num_samples))

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return super().forward(context, targets)
        # Not sooner: a model that only embeds may be built in such a process.
        if self.sparse and is_distributed() and torch.distributed.get_backend() == "nccl":
            raise ConfigurationError(
                "sampled_softmax: `sparse` is true, but several GPUs (NCCL) cannot exchange sparse "
                "gradients. Set it to false, or train on one GPU, without `distributed`."
            )
        # A sample of every so many words, from one of the first of them: each is as likely.
        start = numpy.random.randint(self._every)
        with torch.no_grad():
            self._negative_log_likelihood(
                self.losses(context[start :: self._every], targets[start :: self._every])
            )
        # Of no words AllenNLP's loss has no gradient.
        return self.softmax(context, targets) if len(targets) else context.sum()

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        weight, bias = self.softmax.softmax_w, self.softmax.softmax_b
        if isinstance(weight, torch.nn.Embedding):  # as they are if sparse
            return softmax_losses(context, targets, weight.weight, bias.weight.squeeze(1))
        return softmax_losses(context, targets, weight, bias)


def log_uniform_sample(num_words: int, num_samples: int) -> Tuple[numpy.ndarray, int]:
    """
    Draws words until there are `num_samples` different ones, the word `k` with a probability of
    `log((k + 2) / (k + 1)) / log(num_words + 1)`. From the same random numbers it makes the same
    sample as AllenNLP's `_choice`.

    # Parameters

    num_words : `int`
    num_samples : `int`

    # Returns

    `Tuple[numpy.ndarray, int]`
        The sample, shape `(num_samples,)`, and the number of draws that it took.
    """
    draws = numpy.empty(0, dtype=numpy.int64)
    first = draws
    while len(first) < num_samples:
        # As many again as there were, in whole rounds of AllenNLP's.
        rounds = max(1, len(draws) // num_samples)
        uniform = numpy.random.rand(rounds * num_samples)
        more = numpy.exp(uniform * numpy.log(num_words + 1)).astype(numpy.int64) - 1
        draws = numpy.concatenate([draws, numpy.clip(more, 0, num_words - 1)])
        first = numpy.unique(draws, return_index=True)[1]
    first = numpy.sort(first)[:num_samples]
    return draws[first], int(first[-1]) + 1
