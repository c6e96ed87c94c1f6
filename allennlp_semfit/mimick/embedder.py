from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_semfit.modules.token_embedders.fasttext_embedder import WordVectorEmbedder

__all__ = ["MimickEmbedder"]


@TokenEmbedder.register("mimick")
class MimickEmbedder(WordVectorEmbedder):
    """
    Returns the vectors that the `mimick` indexer has looked up or predicted. It has no parameters:
    the vectors are fixed, and only those of the batch are copied to the device.

    Registered as a `TokenEmbedder` with name "mimick".

    # Parameters

    embedding_dim : `int`
        The dimension of the table's vectors.

    # Example

    ```json
    "token_embedders": {"mimick": {"type": "mimick", "embedding_dim": 300}}
    ```
    """

    _name = "mimick"
    _parameter = "table_path"
