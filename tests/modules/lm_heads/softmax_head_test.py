import copy

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, EmptyEmbedder

from allennlp_semfit.modules.lm_heads.softmax_heads import SoftmaxHead
from tests.modules.lm_heads.vocabularies import vocabulary_of


def tied(embedding, input_dim=6, **options):
    head = SoftmaxHead(vocabulary_of(10), input_dim, tie_to_input=True, **options)
    head.tie_weights(BasicTextFieldEmbedder({"tokens": embedding}))
    return head


@pytest.mark.parametrize("input_dim", [4, 6])
def test_tied_weights_are_the_vectors_of_the_input(input_dim):
    embedding = Embedding(embedding_dim=4, num_embeddings=12)
    head = tied(embedding, input_dim, embedding_dim=4)
    assert {name for name, _ in head.named_parameters()} == (
        {"bias"} if input_dim == 4 else {"bias", "projection.weight", "projection.bias"}
    )
    assert "weight" not in head.state_dict()
    context, targets = torch.randn(5, input_dim), torch.tensor([0, 10, 3, 3, 7])
    logits = head.projection(context) @ embedding.weight[1:].T
    expected = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    loss = head(context, targets)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    gradient = embedding.weight.grad
    assert gradient[0].eq(0).all()
    assert gradient[1:].ne(0).any(dim=1).all()
    # An update of the input's weights also changes the output's.
    embedding.weight.data.zero_()
    torch.testing.assert_close(
        head(context, targets), torch.tensor(5 * torch.tensor(11.0).log().item())
    )


def test_the_first_scores_have_unit_variance():
    # As those of vectors of any dimension that a layer norm yields.
    head = SoftmaxHead(vocabulary_of(2000), 6, embedding_dim=64)
    context = torch.nn.functional.layer_norm(torch.randn(30, 64), [64])
    scores = context @ head.output_layer()[0].T
    assert scores.var().item() == pytest.approx(1, rel=0.1)


def test_a_copy_of_the_model_has_tied_weights():
    model = torch.nn.Module()
    model.embedding = Embedding(embedding_dim=4, num_embeddings=12)
    model.head = tied(model.embedding, embedding_dim=4)
    other = copy.deepcopy(model)
    assert other.head._tied_embedding[0] is other.embedding is not model.embedding


def test_an_input_that_cannot_be_tied_is_refused():
    with pytest.raises(ConfigurationError, match="12 vectors.*'tokens'.*`embedding_dim`, 6.*12 of"):
        tied(Embedding(embedding_dim=4, num_embeddings=12))
    with pytest.raises(ConfigurationError, match="12 vectors.*It has 11 of 4"):
        tied(Embedding(embedding_dim=4, num_embeddings=11), embedding_dim=4)
    with pytest.raises(ConfigurationError, match="'tokens', but that is EmptyEmbedder"):
        tied(EmptyEmbedder())
    with pytest.raises(ConfigurationError, match="without a projection"):
        tied(Embedding(embedding_dim=4, num_embeddings=12, projection_dim=6), embedding_dim=6)
    with pytest.raises(ConfigurationError, match="'tokens', but that is missing"):
        SoftmaxHead(vocabulary_of(10), 6, tie_to_input=True).tie_weights(BasicTextFieldEmbedder({}))
