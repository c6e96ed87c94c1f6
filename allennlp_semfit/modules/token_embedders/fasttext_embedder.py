from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import TokenEmbedder


@TokenEmbedder.register("mimick")
@TokenEmbedder.register("fasttext")
class FastTextEmbedder(TokenEmbedder):
    """
    Returns the vectors that the indexer of the same name has looked up or predicted. There are no
    parameters: the vectors are fixed, and only those of the batch are copied to the device.

    Registered as a `TokenEmbedder` with names "fasttext" and "mimick".

    # Parameters

    embedding_dim : `int`
        The dimension of the vectors in the indexer's file.

    # Example

    ```json
    "token_embedders": {"fasttext": {"type": "fasttext", "embedding_dim": 300}}
    ```
    """

    def __init__(self, embedding_dim: int) -> None:
        super().__init__()
        self._embedding_dim = embedding_dim

    def get_output_dim(self) -> int:
        return self._embedding_dim

    def forward(
        self,
        vectors: torch.Tensor,
        word_mask: Optional[torch.BoolTensor] = None,
        indices: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        The vector of each word, shape `(batch_size, length, embedding_dim)`. `vectors` has the same
        shape. With `indices`, the row of each word in `vectors`, it has the shape
        `(num_vectors + 1, embedding_dim)`. Raises a `ConfigurationError` if the dimension of the
        vectors is not `embedding_dim`.
        """
        if vectors.size(-1) != self._embedding_dim:
            raise ConfigurationError(
                f"The embedder's `embedding_dim` is {self._embedding_dim}, but the file of its "
                f"indexer has vectors of dimension {vectors.size(-1)}. Set `embedding_dim` to "
                f"{vectors.size(-1)} here and wherever else the config repeats it, or give the "
                "indexer another file."
            )
        return vectors if indices is None else torch.nn.functional.embedding(indices, vectors)
