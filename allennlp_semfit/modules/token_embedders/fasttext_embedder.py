import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import TokenEmbedder

__all__ = ["FastTextEmbedder"]


@TokenEmbedder.register("fasttext")
class FastTextEmbedder(TokenEmbedder):
    """
    Returns the vectors that the `fasttext` indexer has looked up. It has no parameters: the vectors
    are fixed, and only those of the batch are copied to the device.

    Registered as a `TokenEmbedder` with name "fasttext".

    # Parameters

    embedding_dim : `int`
        The dimension of the fastText model's vectors.

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

    def forward(self, vectors: torch.Tensor, word_mask: torch.BoolTensor = None) -> torch.Tensor:
        """
        # Parameters

        vectors : `torch.Tensor`
            Shape `(batch_size, length, embedding_dim)`.
        word_mask : `torch.BoolTensor`, optional (default = `None`)
            Shape `(batch_size, length)`. Another tensor of the indexer; not used.

        # Returns

        `torch.Tensor`
            `vectors`, unchanged.

        # Raises

        `ConfigurationError`
            If the dimension of the vectors is not `embedding_dim`.
        """
        if vectors.size(-1) != self._embedding_dim:
            raise ConfigurationError(
                f"The fasttext embedder's `embedding_dim` is {self._embedding_dim}, but the model "
                f"at the fasttext indexer's `model_path` has vectors of dimension "
                f"{vectors.size(-1)}. Set `embedding_dim` to {vectors.size(-1)} here and wherever "
                f"else the config repeats it, or set `model_path` to another model."
            )
        return vectors
