from typing import Dict

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.nn.util import get_token_ids_from_text_field_tensors

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.training.metrics.token_averages import TokenAverage

__all__ = ["SoftmaxHeadBase", "softmax_losses"]

# Without a graph, logits are computed so many at a time: 128 MB in single precision.
_MAX_LOGITS = 2**25


class SoftmaxHeadBase(LmHead):
    """
    What the softmax heads share: the words to predict are those of a vocabulary. The classes are
    its words in their order, `@@UNKNOWN@@` first and the padding left out, so a word's class is its
    index less one.

    Reports `perplexity`: the exponential of the mean negative log-likelihood of a word, over both
    directions, each word weighing the same.

    # Parameters

    vocab : `Vocabulary`
    input_dim : `int`
        The dimension of a context vector.
    namespace : `str`
        The namespace of the vocabulary.
    indexer : `str`
        The name of the `single_id` indexer, in the reader's `token_indexers`, that gives the words
        as indices of that namespace.

    # Raises

    `ConfigurationError`
        If the vocabulary has no such namespace, or the namespace no padding; in training, if there
        is no such indexer.
    """

    def __init__(
        self, vocab: Vocabulary, input_dim: int, namespace: str = "tokens", indexer: str = "tokens"
    ) -> None:
        super().__init__(input_dim)
        found = sorted(vocab.get_namespaces())
        if namespace not in found:
            raise ConfigurationError(
                f"A softmax needs a vocabulary, but there is no namespace {namespace!r} in that of "
                f"the configuration; it has {found or 'none'}. `allennlp count-vocabulary` makes "
                'one for "vocabulary": {"type": "from_files", "directory": …}; or correct the '
                "head's `namespace`."
            )
        if not vocab.is_padded(namespace):
            raise ConfigurationError(
                f"The vocabulary's namespace {namespace!r} has no padding at index 0; a softmax "
                "head takes a namespace that has. Give it a name that does not end in tags or "
                "labels, and leave it out of `non_padded_namespaces`."
            )
        self.num_classes = vocab.get_vocab_size(namespace) - 1
        self.namespace = namespace
        self.indexer = indexer
        self._negative_log_likelihood = TokenAverage()

    def targets(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> torch.Tensor:
        """
        # Returns

        `torch.Tensor`
            The class of each word, -1 where padded. Shape `(batch_size, length)`.
        """
        if self.indexer not in source:
            raise ConfigurationError(
                f"The head takes the words to predict from the indexer {self.indexer!r}, but the "
                f"reader's `token_indexers` are {sorted(source)}. Add "
                f'"{self.indexer}": {{"type": "single_id", "namespace": "{self.namespace}"}} there '
                'and, if the model is not to read it, {"type": "empty"} of the same name to the '
                "`token_embedders`."
            )
        return get_token_ids_from_text_field_tensors({self.indexer: source[self.indexer]}) - 1

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        losses = self.losses(context, targets)
        self._negative_log_likelihood(losses)
        return losses.sum()

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        context : `torch.Tensor`
            Shape `(N, input_dim)`.
        targets : `torch.Tensor`
            Classes. Shape `(N,)`.

        # Returns

        `torch.Tensor`
            The negative log-likelihood of each target, in nats. Shape `(N,)`.
        """
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        mean = self._negative_log_likelihood.get_metric(reset)
        # Of no words it is 0, as AllenNLP's `Perplexity` has it. `math.exp` would overflow.
        return {"perplexity": torch.tensor(mean, dtype=torch.double).exp().item() if mean else 0.0}


def softmax_losses(
    context: torch.Tensor, targets: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """
    Equation 1 of Li et al. 2019, with a bias: `-(c·w + b) + log Σ_w' exp(c·w' + b')`.

    Where no gradient is wanted, it takes no more memory for more words than for some.

    # Parameters

    context : `torch.Tensor`
        Shape `(N, dim)`.
    targets : `torch.Tensor`
        Shape `(N,)`.
    weight : `torch.Tensor`
        Shape `(num_classes, dim)`.
    bias : `torch.Tensor`
        Shape `(num_classes,)`.

    # Returns

    `torch.Tensor`
        Shape `(N,)`.
    """
    rows = context.size(0)
    if not torch.is_grad_enabled():
        rows = max(1, _MAX_LOGITS // weight.size(0))
    losses = [
        torch.nn.functional.cross_entropy(
            torch.nn.functional.linear(some_context, weight, bias), some_targets, reduction="none"
        )
        for some_context, some_targets in zip(
            context.split(max(rows, 1)), targets.split(max(rows, 1))
        )
    ]
    return torch.cat(losses)
