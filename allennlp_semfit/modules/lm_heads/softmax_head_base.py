from typing import Dict

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.nn.util import get_token_ids_from_text_field_tensors

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.training.token_averages import TokenAverage

# The number of logits computed at once when no gradient is needed: 128 MB in float32.
_MAX_LOGITS = 2**25


class SoftmaxHeadBase(LmHead):
    """
    A base class for softmax heads, which predict the words of a vocabulary. The class of a word is
    its index minus 1, because there is none for the padding; `@@UNKNOWN@@` is class 0.

    Reports `perplexity`: the exponential of the mean negative log-likelihood, averaged over the
    words of both directions.

    The `single_id` indexer named `indexer`, in the reader's `token_indexers`, provides the words'
    indices in the namespace.

    # Raises

    `ConfigurationError`
        If the vocabulary lacks the namespace, or the namespace has no padding; in training, if the
        reader lacks the indexer.
    """

    def __init__(
        self, vocab: Vocabulary, input_dim: int, namespace: str = "tokens", indexer: str = "tokens"
    ) -> None:
        super().__init__(input_dim)
        found = sorted(vocab.get_namespaces())
        if namespace not in found:
            raise ConfigurationError(
                f"A softmax head needs a vocabulary, but the config's has no namespace "
                f"{namespace!r}; it has {found or 'none'}. Set the config's "
                f"`vocabulary` to {{'min_count': {{{namespace!r}: 3}}}}, or correct the head's "
                "`namespace`."
            )
        if not vocab.is_padded(namespace):
            raise ConfigurationError(
                f"The vocabulary's namespace {namespace!r} has no padding at index 0, which a "
                "softmax head requires. Give it a name that does not end in tags or labels, and "
                "remove it from `non_padded_namespaces`."
            )
        self.num_classes = vocab.get_vocab_size(namespace) - 1
        self.namespace = namespace
        self.indexer = indexer
        self._negative_log_likelihood = TokenAverage()

    def prepare_targets(
        self, source: TextFieldTensors, input_vectors: torch.Tensor
    ) -> torch.Tensor:
        """The class of each word, -1 for padding. Shape `(batch_size, length)`."""
        if self.indexer not in source:
            raise ConfigurationError(
                f"The softmax head reads its targets from the indexer {self.indexer!r}, but the "
                f"reader's `token_indexers` are {sorted(source)}. Add "
                f'"{self.indexer}": {{"type": "single_id", "namespace": "{self.namespace}"}} there '
                'and, if the model does not read it, {"type": "empty"} under the same name to the '
                "`token_embedders`."
            )
        return get_token_ids_from_text_field_tensors({self.indexer: source[self.indexer]}) - 1

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        losses = self.losses(context, targets)  # (N,)
        self._negative_log_likelihood(losses)
        return losses.sum()

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """
        Returns the negative log-likelihood of each target, in nats, shape `(N,)`. The shape of
        `context` is `(N, input_dim)`; `targets` contains classes, shape `(N,)`.
        """
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        mean = self._negative_log_likelihood.get_metric(reset)
        # `math.exp` would raise on overflow.
        return {"perplexity": torch.tensor(mean, dtype=torch.double).exp().item()}


def softmax_losses(
    context: torch.Tensor, targets: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """
    Equation 1 of Li et al. 2019, with a bias: `-(c·w + b) + log Σ_w' exp(c·w' + b')`. `context` has
    the shape `(N, dim)`, `weight` `(num_classes, dim)`; the result has the shape `(N,)`.

    Without gradients, the memory use does not depend on `N`.
    """
    chunk_size = context.size(0)
    if not torch.is_grad_enabled():
        chunk_size = _MAX_LOGITS // weight.size(0)
    chunk_size = max(chunk_size, 1)
    # The logits have the shape (chunk_size, num_classes), the losses (chunk_size,).
    losses = [
        torch.nn.functional.cross_entropy(
            torch.nn.functional.linear(context_chunk, weight, bias), target_chunk, reduction="none"
        )
        for context_chunk, target_chunk in zip(context.split(chunk_size), targets.split(chunk_size))
    ]
    return torch.cat(losses)
