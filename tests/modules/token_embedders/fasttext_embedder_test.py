import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.modules import TextFieldEmbedder

import allennlp_semfit  # noqa: F401 (registers the embedders)


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


def test_each_word_has_the_row_of_its_index():
    embedder, _ = embed(torch.randn(2, 3, 7))
    rows, indices = torch.randn(4, 7), torch.tensor([[3, 1, 3], [2, 0, 0]])
    tensors = {"indices": indices, "vectors": rows}
    assert torch.equal(embedder({"fasttext": tensors}), rows[indices])


def test_a_wrong_dimension_is_refused():
    message = (
        "The embedder's `embedding_dim` is 7, but the file of its indexer has vectors of "
        "dimension 10. Set `embedding_dim` to 10 here"
    )
    with pytest.raises(ConfigurationError, match=message):
        embed(torch.randn(2, 3, 10))
