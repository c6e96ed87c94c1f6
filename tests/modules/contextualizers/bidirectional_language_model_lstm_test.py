import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.elmo_lstm import ElmoLstm

from allennlp_semfit.modules.contextualizers.bidirectional_language_model_lstm import (
    BidirectionalLanguageModelLstm,
)
from tests.modules.contextualizers.contextualizers_test import ragged_mask


def encoder_of(**kwargs):
    sizes = {"input_dim": 5, "hidden_dim": 7, "cell_size": 11, "num_layers": 3}
    encoder = BidirectionalLanguageModelLstm(**{**sizes, **kwargs})
    with torch.no_grad():
        # So large that every clip value is met.
        for parameter in encoder.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return encoder


@pytest.mark.parametrize("clips", [(3.0, 3.0), (0.3, 0.2), (None, None)])
def test_without_layer_norm_every_layer_is_that_of_elmo_lstm(clips):
    encoder = encoder_of(
        layer_norm=False,
        return_all_layers=True,
        memory_cell_clip_value=clips[0],
        state_projection_clip_value=clips[1],
    ).double()
    # ElmoLstm has one input for both directions.
    encoder.backward_input_projection.load_state_dict(encoder.forward_input_projection.state_dict())
    elmo = ElmoLstm(7, 7, 11, 3, False, 0.0, clips[0], clips[1]).double()
    for name, layers in (
        ("forward", encoder.forward_layers),
        ("backward", encoder.backward_layers),
    ):
        for index, layer in enumerate(layers):
            getattr(elmo, f"{name}_layer_{index}").load_state_dict(layer.state_dict())

    inputs, mask = torch.randn(3, 9, 5, dtype=torch.float64), ragged_mask(4, 9, 1)
    layers = encoder(inputs, mask)
    projected = encoder.forward_input_projection(inputs)
    torch.testing.assert_close(layers[0], torch.cat([projected] * 2, -1) * mask.unsqueeze(-1))
    expected = elmo(projected, mask)
    for layer, reference in zip(layers[1:], expected):
        torch.testing.assert_close(layer, reference)


def test_gradients_in_float64():
    encoder = encoder_of(num_layers=2, cell_size=3, hidden_dim=4).double()
    mask = ragged_mask(2, 4)
    inputs = torch.randn(2, 4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: encoder(x, mask), (inputs,))


def test_dropout_does_not_affect_residual_connections_and_evaluation():
    encoder = encoder_of(dropout=0.5, return_all_layers=True)
    inputs, mask = torch.randn(3, 9, 5), ragged_mask(4, 9, 1)
    assert torch.equal(encoder(inputs, mask)[0], encoder(inputs, mask)[0])
    assert not torch.equal(encoder(inputs, mask)[1], encoder(inputs, mask)[1])
    encoder.eval()
    assert torch.equal(encoder(inputs, mask)[-1], encoder(inputs, mask)[-1])


@pytest.mark.parametrize("name", ["memory_cell_clip_value", "state_projection_clip_value"])
def test_bad_clip_values_are_refused(name):
    with pytest.raises(ConfigurationError, match=f"`{name}` is 0.0; it must be greater"):
        encoder_of(**{name: 0.0})
