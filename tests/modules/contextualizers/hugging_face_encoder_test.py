import pytest
import torch
from allennlp.common.checks import ConfigurationError
from transformers import AutoConfig, AutoModel

from tests.modules.contextualizers.contextualizers_test import (
    TRANSFORMER_SIZES,
    build,
    check_shapes_and_padding,
    check_windows,
    ragged_mask,
)


@pytest.mark.parametrize("model_type", ["bert", "distilbert", "electra", "roformer"])
def test_shapes_and_padding(model_type):
    config = TRANSFORMER_SIZES
    if model_type == "distilbert":
        config = {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 6}
    elif model_type == "electra":
        config = {**TRANSFORMER_SIZES, "embedding_size": 4}
    encoder = build("bert", model_type=model_type, config=config)
    last = check_shapes_and_padding(encoder, 16)
    # No parameter is unused, which distributed training does not allow.
    (last * torch.linspace(-1, 1, 16) ** 3).sum().backward()
    parameters = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    assert all(parameter.grad is not None for parameter in parameters)


def test_it_is_the_model_of_transformers():
    encoder = build("bert", return_all_layers=True).double()
    config = AutoConfig.for_model("bert", **TRANSFORMER_SIZES, vocab_size=7)
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
        (
            {"config": {**TRANSFORMER_SIZES, "num_layers": 3}},
            "has 'num_layers', which is not a parameter",
        ),
        ({"config": {"is_decoder": True}}, "has 'is_decoder', which is not a parameter"),
        ({"config": {**TRANSFORMER_SIZES, "hidden_act": "gelus"}}, "cannot build a bert .*gelus"),
        (
            {"config": {**TRANSFORMER_SIZES, "num_attention_heads": 3}},
            r"not a multiple of the number of att",
        ),
    ],
)
def test_what_it_refuses(overrides, message):
    with pytest.raises(ConfigurationError, match=message):
        build("bert", **overrides)


@pytest.mark.parametrize("model_type", ["bert", "distilbert", "electra", "roformer"])
def test_a_sentence_of_more_words_than_positions_is_read_in_windows(model_type):
    sizes = {"max_position_embeddings": 4}
    if model_type != "distilbert":
        sizes = {**TRANSFORMER_SIZES, **sizes}
    check_windows(build("bert", model_type=model_type, config=sizes), 4)
