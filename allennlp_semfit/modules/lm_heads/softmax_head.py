from typing import Any, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.token_embedders import Embedding

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.softmax_head_base import SoftmaxHeadBase, softmax_losses


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
        Whether the output vectors are the weights of the model's `embedding` named `indexer`
        ("tied word embeddings"). The bias is not shared.
    namespace : `str`, optional (default = `"tokens"`)
        The vocabulary's namespace.
    indexer : `str`, optional (default = `"tokens"`)
        The name of the indexer that provides the words' indices in the namespace.

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
        embedder = getattr(text_field_embedder, "_token_embedders", {}).get(self.indexer)
        if not isinstance(embedder, Embedding) or embedder._projection is not None:
            raise ConfigurationError(
                f"softmax: `tie_to_input` uses the weights of the token embedder {self.indexer!r}, "
                f"but that is {type(embedder).__name__ if embedder else 'missing'}. It must be an "
                "`embedding` without a projection."
            )
        found, expected = tuple(embedder.weight.size()), (self.num_classes + 1, self.embedding_dim)
        if found != expected:
            raise ConfigurationError(
                f"softmax: with `tie_to_input`, the `embedding` {self.indexer!r} must have "
                f"{expected[0]} vectors, one for each index of the namespace {self.namespace!r}, "
                f"of the head's `embedding_dim`, {expected[1]}. It has {found[0]} of {found[1]}."
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
