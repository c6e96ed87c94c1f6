import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.modules.token_embedders.fasttext_embedder import FastTextEmbedder


def test_a_wrong_dimension_is_refused():
    message = (
        "The embedder's `embedding_dim` is 7, but the file of its indexer has vectors of "
        "dimension 10. Set `embedding_dim` to 10 here"
    )
    with pytest.raises(ConfigurationError, match=message):
        FastTextEmbedder(7)(torch.randn(2, 3, 10))
