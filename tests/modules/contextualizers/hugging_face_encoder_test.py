import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from transformers import AutoConfig, AutoModel

from tests.modules.contextualizers.contextualizers_test import (
    TRANSFORMER_SIZES,
    check_shapes_and_padding,
    check_windows,
    ragged_mask,
)

SIZES = {**TRANSFORMER_SIZES, "hidden_size": 8}


def build(**overrides):
    torch.manual_seed(1)
    params = {"type": "hugging_face_encoder", "input_dim": 5, "config": SIZES, **overrides}
    return Seq2SeqEncoder.from_params(Params(params)).eval()


@pytest.mark.parametrize("model_type", ["bert", "distilbert", "electra", "roformer"])
def test_shapes_and_padding(model_type):
    config = SIZES
    if model_type == "distilbert":
        config = {"dim": 8, "n_layers": 3, "n_heads": 2, "hidden_dim": 6}
    elif model_type == "electra":
        config = {**SIZES, "embedding_size": 4}
    encoder = build(model_type=model_type, config=config)
    last = check_shapes_and_padding(encoder, 8)
    # No parameter is unused, which distributed training does not allow.
    (last * torch.linspace(-1, 1, 8) ** 3).sum().backward()
    parameters = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    assert all(parameter.grad is not None for parameter in parameters)


def test_it_is_the_model_of_transformers():
    encoder = build(return_all_layers=True).double()
    config = AutoConfig.for_model("bert", **SIZES, vocab_size=7)
    reference = AutoModel.from_config(config, add_pooling_layer=False).double().eval()
    weights = encoder.encoder.state_dict()
    words = "embeddings.word_embeddings.weight"
    reference.load_state_dict({**weights, words: reference.state_dict()[words]})
    # Words whose projection is their embedding.
    with torch.no_grad():
        encoder.input_projection.weight.zero_()[:5] = torch.eye(5)
        encoder.input_projection.bias.zero_()
        table = reference.get_input_embeddings().weight
        table[:, 5:] = 0
    words = torch.randint(7, (2, 6))
    mask = ragged_mask(6, 4)
    expected = reference(words, attention_mask=mask.long(), output_hidden_states=True).hidden_states
    for layer, state in zip(encoder(table[words][..., :5], mask), expected):
        torch.testing.assert_close(layer[mask], state[mask])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"model_type": "gpt2"}, "`model_type` must be one of bert, distilbert"),
        ({"config": {**SIZES, "num_layers": 3}}, "has 'num_layers', which is not a parameter"),
        ({"config": {"is_decoder": True}}, "has 'is_decoder', which is not a parameter"),
        ({"config": {**SIZES, "hidden_act": "gelus"}}, "cannot build a bert .*gelus"),
        ({"config": {**SIZES, "num_attention_heads": 3}}, r"not a multiple of the number of att"),
    ],
)
def test_what_it_refuses(overrides, message):
    with pytest.raises(ConfigurationError, match=message):
        build(**overrides)


@pytest.mark.parametrize("model_type", ["bert", "distilbert", "electra", "roformer"])
def test_a_sentence_of_more_words_than_positions_is_read_in_windows(model_type):
    sizes = {"max_position_embeddings": 4}
    if model_type != "distilbert":
        sizes = {**SIZES, **sizes}
    check_windows(build(model_type=model_type, config=sizes), 4)
