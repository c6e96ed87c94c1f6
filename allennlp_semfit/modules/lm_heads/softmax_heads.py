"""Output layers with a softmax over a vocabulary."""

from typing import Any, Dict, List, Optional, Tuple

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.sampled_softmax_loss import SampledSoftmaxLoss
from allennlp.modules.token_embedders import Embedding
from allennlp.nn.util import get_token_ids_from_text_field_tensors

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.training.token_averages import TokenAverage

# The name of the indexer with the targets.
_INDEXER = "tokens"
# The number of logits computed at once when no gradient is needed: 128 MB in float32.
_MAX_LOGITS = 2**25
# In training, the loss costs this many times as much as the perplexity.
_COST_RATIO = 10


class SoftmaxHeadBase(LmHead):
    """
    A base class for softmax heads, which predict the words of a vocabulary. The class of a word is
    its index minus 1, because there is none for the padding; `@@UNKNOWN@@` is class 0.

    Reports `perplexity`: the exponential of the mean negative log-likelihood, averaged over the
    words of both directions.

    The `single_id` indexer named `tokens`, in the reader's `token_indexers`, provides the words'
    indices in the namespace. Raises a `ConfigurationError` if the vocabulary lacks the namespace,
    or the namespace has no padding; in training, if the reader lacks the indexer.
    """

    def __init__(self, vocab: Vocabulary, input_dim: int, namespace: str = "tokens") -> None:
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
        self._negative_log_likelihood = TokenAverage()

    def prepare_targets(
        self, source: TextFieldTensors, input_vectors: torch.Tensor
    ) -> torch.Tensor:
        """The class of each word, -1 for padding. Shape `(batch_size, length)`."""
        if _INDEXER not in source:
            raise ConfigurationError(
                f"The softmax head reads its targets from the indexer {_INDEXER!r}, but the "
                f"reader's `token_indexers` are {sorted(source)}. Add "
                f'"{_INDEXER}": {{"type": "single_id", "namespace": "{self.namespace}"}} there '
                'and, if the model does not read it, {"type": "empty"} under the same name to the '
                "`token_embedders`."
            )
        return get_token_ids_from_text_field_tensors({_INDEXER: source[_INDEXER]}) - 1

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
        for context_chunk, target_chunk in zip(
            context.split(chunk_size), targets.split(chunk_size), strict=True
        )
    ]
    return torch.cat(losses)


@LmHead.register("softmax")
class SoftmaxHead(SoftmaxHeadBase):
    """
    The softmax over the whole vocabulary: equation 1 of Li et al. 2019. Its cost is proportional to
    the vocabulary size, so use it for small vocabularies such as the subwords of ELMo-Sub, where
    input and output share their vectors (Press and Wolf 2017, "Using the Output Embedding to
    Improve Language Models").

    Registered as an `LmHead` with name "softmax".

    # Parameters

    vocab : `Vocabulary`
    input_dim : `int`
        The dimension of a context vector.
    embedding_dim : `int`, optional (default = `input_dim`)
        The dimension of a word's output vector. If it differs from `input_dim`, a linear map
        projects the context to it.
    tie_to_input : `bool`, optional (default = `False`)
        Whether the output vectors are the weights of the model's `embedding` named `tokens`
        ("tied word embeddings"). The bias is not shared.
    namespace : `str`, optional (default = `"tokens"`)
        The vocabulary's namespace, that of the reader's `single_id` indexer named `tokens`.

    # Raises

    `ConfigurationError`
        If the vocabulary has no such namespace; with `tie_to_input`, if the model has no such
        embedder, it is not an `embedding` without a projection, or its size does not match.

    # Example

    ```json
    "text_field_embedder": {
        "token_embedders": {
            "tokens": {"type": "embedding", "embedding_dim": 300, "vocab_namespace": "subwords"}
        }
    },
    "head": {
        "type": "softmax", "input_dim": 512, "embedding_dim": 300, "tie_to_input": true,
        "namespace": "subwords"
    }
    ```
    """

    def __init__(
        self,
        vocab: Vocabulary,
        input_dim: int,
        embedding_dim: Optional[int] = None,
        tie_to_input: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, input_dim, **kwargs)
        self.embedding_dim = input_dim if embedding_dim is None else embedding_dim
        self.tie_to_input = tie_to_input
        self.projection = (
            torch.nn.Identity()
            if self.embedding_dim == input_dim
            else torch.nn.Linear(input_dim, self.embedding_dim)
        )
        self.bias = torch.nn.Parameter(torch.zeros(self.num_classes))
        # A tuple hides the embedding from PyTorch, so that its weight is not archived twice.
        self._tied_embedding: Tuple[Embedding, ...] = ()
        if not tie_to_input:
            self.weight = torch.nn.Parameter(
                torch.randn(self.num_classes, self.embedding_dim) * self.embedding_dim**-0.5
            )

    def tie_weights(self, text_field_embedder: TextFieldEmbedder) -> None:
        if not self.tie_to_input:
            return
        embedder = getattr(text_field_embedder, "_token_embedders", {}).get(_INDEXER)
        if not isinstance(embedder, Embedding) or embedder._projection is not None:
            raise ConfigurationError(
                f"softmax: `tie_to_input` uses the weights of the token embedder {_INDEXER!r}, "
                f"but that is {type(embedder).__name__ if embedder else 'missing'}. It must be an "
                "`embedding` without a projection."
            )
        found, expected = tuple(embedder.weight.size()), (self.num_classes + 1, self.embedding_dim)
        if found != expected:
            raise ConfigurationError(
                f"softmax: with `tie_to_input`, the `embedding` {_INDEXER!r} must have "
                f"{expected[0]} vectors, one for each index of the namespace {self.namespace!r}, "
                f"of the head's `embedding_dim`, {expected[1]}. It has {found[0]} vectors of "
                f"dimension {found[1]}."
            )
        self._tied_embedding = (embedder,)

    def output_layer(self) -> Tuple[torch.Tensor, torch.Tensor]:
        """The weight, shape `(num_classes, embedding_dim)`, and bias, shape `(num_classes,)`."""
        # Index 0 of the embedding is the padding.
        weight = self._tied_embedding[0].weight[1:] if self._tied_embedding else self.weight
        return weight, self.bias

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        projected = self.projection(context)  # (N, embedding_dim)
        return softmax_losses(projected, targets, *self.output_layer())


@LmHead.register("adaptive_softmax")
class AdaptiveSoftmaxHead(SoftmaxHeadBase):
    """
    The adaptive softmax (Grave et al. 2017, "Efficient softmax approximation for GPUs"), the output
    layer of ELMo-A: PyTorch's `AdaptiveLogSoftmaxWithLoss`. The most frequent words are predicted
    directly. The others are predicted in two steps: first the cluster, then the word in it. The
    rarer the words of a cluster, the lower the dimension of their vectors.

    The head is fast only if the vocabulary is sorted by decreasing frequency, as are vocabularies
    that AllenNLP counts.

    Registered as an `LmHead` with name "adaptive_softmax".

    # Parameters

    vocab, input_dim, namespace
        See `softmax`.
    cutoffs : `List[int]`
        The index at which each cluster after the first starts. With `[2000, 10000]` there are
        three: the 2,000 most frequent words, the next 8,000 and the rest.
    div_value : `float`, optional (default = `4.0`)
        The dimension of the vectors is divided by this from each cluster to the next.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, input_dim, **kwargs)
        try:
            self.softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(
                input_dim, self.num_classes, cutoffs, div_value
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

    vocab, input_dim, namespace
        See `softmax`.
    num_samples : `int`, optional (default = `8192`)
        The number of words in a sample.
    sparse : `bool`, optional (default = `False`)
        Whether the gradient is sparse. This requires an optimizer such as `dense_sparse_adam`, no
        `grad_norm`, and at most one GPU: NCCL does not support sparse gradients.

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
            return self.softmax(context, targets)
        # AllenNLP's loss would have no gradient, but `DistributedDataParallel` waits for one.
        return context.sum() if self.sparse else self.losses(context, targets).sum()

    def output_layer(self) -> Tuple[torch.Tensor, torch.Tensor]:
        """The weight, shape `(num_classes, input_dim)`, and the bias, shape `(num_classes,)`."""
        weight, bias = self.softmax.softmax_w, self.softmax.softmax_b
        if isinstance(weight, torch.nn.Embedding):
            return weight.weight, bias.weight.squeeze(1)
        return weight, bias

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return softmax_losses(context, targets, *self.output_layer())
