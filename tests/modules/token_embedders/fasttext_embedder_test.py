import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.modules import TextFieldEmbedder


def embed(vectors):
    config = {"type": "fasttext", "embedding_dim": 7}
    embedder = TextFieldEmbedder.from_params(Params({"token_embedders": {"fasttext": config}}))
    mask = torch.ones(vectors.shape[:-1], dtype=torch.bool)
    return embedder, embedder({"fasttext": {"vectors": vectors, "word_mask": mask}})


def test_the_vectors_are_returned_unchanged():
    vectors = torch.randn(2, 3, 7)
    embedder, embedded = embed(vectors)
    assert torch.equal(embedded, vectors)
    assert embedder.get_output_dim() == 7
    assert list(embedder.parameters()) == []


def test_a_wrong_dimension_is_refused():
    with pytest.raises(ConfigurationError, match=r"`embedding_dim` is 7.*dimension 10"):
        embed(torch.randn(2, 3, 10))
