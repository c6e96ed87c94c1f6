from allennlp.modules.token_embedders import TokenEmbedder

from allennlp_semfit.modules.token_embedders.word_vector_embedder import WordVectorEmbedder

__all__ = ["FastTextEmbedder"]


@TokenEmbedder.register("fasttext")
class FastTextEmbedder(WordVectorEmbedder):
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

    _name = "fasttext"
    _parameter = "model_path"
