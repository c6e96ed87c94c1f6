"""The properties that a language model requires of all contextualizers."""

import inspect
import math
import re
from functools import partial

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.elmo_lstm import ElmoLstm
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint

from allennlp_semfit.modules.contextualizers.contextualizer import BidirectionalStack
from allennlp_semfit.modules.kernels import projected_lstm
from tests.modules.kernels.common import randomise

# The example of a custom contextualizer.
exec(re.search("```python\n(.*?)```", inspect.getdoc(BidirectionalStack), re.DOTALL)[1])

SIZES = {"input_dim": 5, "hidden_dim": 8, "cell_size": 11, "num_layers": 3}
TRANSFORMER = {
    "type": "bidirectional_language_model_transformer",
    "input_dim": 8,
    "hidden_dim": 6,
    "num_layers": 3,
}
GATED_CNN = {"type": "gated-cnn-encoder", "input_dim": 8, "layers": [[[3, 8]], [[2, 8]], [[2, 8]]]}
TRANSFORMER_SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 6,
    "max_position_embeddings": 16,
}
ADAPTER = {"type": "bidirectional_language_model_adapter", "input_dim": 5}
CONTEXTUALIZERS = {
    **{
        kind: {"type": f"bidirectional_language_model_{kind}", **SIZES}
        for kind in ("lstm", "sru", "qrnn")
    },
    "gru": {"type": "my_gru", **SIZES},
    "transformer": {**ADAPTER, "encoder": TRANSFORMER},
    "gated_cnn": {**ADAPTER, "encoder": GATED_CNN},
    "bert": {"type": "hugging_face_encoder", "input_dim": 5, "config": TRANSFORMER_SIZES},
}
each_kind = pytest.mark.parametrize("kind", CONTEXTUALIZERS)


def build(kind, **overrides):
    torch.manual_seed(1)
    params = Params({**CONTEXTUALIZERS[kind], **overrides})
    return Seq2SeqEncoder.from_params(params).eval()


def ragged_mask(*lengths):
    return torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)


def check_windows(encoder, length):
    encoder.return_all_layers = True
    inputs, mask = torch.randn(3, 2 * length + 1, 5), ragged_mask(2 * length + 1, 2, length + 1)
    layers = torch.stack(encoder(inputs, mask))
    assert layers.isfinite().all()
    for start in range(0, inputs.size(1), length):
        window = slice(start, start + length)
        for sentence, is_word in enumerate(mask[:, window]):
            words = inputs[sentence, window][is_word].unsqueeze(0)
            expected = torch.stack(encoder(words, ragged_mask(words.size(1)))).squeeze(1)
            torch.testing.assert_close(layers[:, sentence, window][:, is_word], expected)


def check_shapes_and_padding(encoder, output_dim):
    assert encoder.is_bidirectional()
    assert (encoder.get_input_dim(), encoder.get_output_dim()) == (5, output_dim)
    assert encoder.num_layers == 3
    inputs, mask = torch.randn(3, 9, 5), ragged_mask(4, 9, 1)
    last = encoder(inputs, mask)
    encoder.return_all_layers = True
    layers = encoder(inputs, mask)
    assert len(layers) == 4
    for layer in layers:
        assert layer.shape == (3, 9, output_dim)
        assert not layer[~mask].any()
        assert layer[mask].any(dim=-1).all()
    assert torch.equal(layers[-1], last)
    return last


@each_kind
def test_shapes_and_padding(kind):
    check_shapes_and_padding(build(kind), 16)


@each_kind
@pytest.mark.parametrize("shape", [(3, 8), (2, 9), (1, 9), (3, 10)])
def test_a_mask_of_other_words(kind, shape):
    message = r"`inputs` has the shape \(3, 9, 5\) and `mask` \(\d, \d+\); they must be"
    with pytest.raises(ValueError, match=message):
        build(kind)(torch.randn(3, 9, 5), torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("kind", [kind for kind in CONTEXTUALIZERS if kind != "bert"])
def test_neither_direction_depends_on_its_targets(kind):
    encoder = build(kind, return_all_layers=True).double()
    mask = ragged_mask(6, 8)
    inputs = torch.randn(2, 8, 5, dtype=torch.float64, requires_grad=True)
    for number, layer in enumerate(encoder(inputs, mask)):
        for position in range(8):
            halves = layer[:, position].chunk(2, dim=-1)
            for states, unknown, seen in (
                (halves[0], slice(position + 1, None), position),
                (halves[1], slice(position), position),
            ):
                # The sum of a normalized state is constant.
                loss = (states * torch.linspace(-1, 1, 8, dtype=torch.float64) ** 3).sum()
                (gradient,) = torch.autograd.grad(loss, inputs, retain_graph=True)
                assert not gradient[:, unknown].any()
                assert gradient[1, seen].any()
                # Nor does padding reach any word.
                assert not gradient[0, 6:].any()
                if number == 3 and 0 < position < 7:
                    neighbor = position - 1 if states is halves[0] else position + 1
                    assert gradient[1, neighbor].any()


@each_kind
@settings(max_examples=25)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), extra=st.integers(0, 3))
def test_a_sentence_has_the_same_states_in_any_batch(kind, lengths, extra):
    encoder = build(kind).double()
    mask = torch.nn.functional.pad(ragged_mask(*lengths), (0, extra))
    inputs = torch.randn(*mask.shape, 5, dtype=torch.float64)
    together = encoder(inputs, mask)
    for row, length in enumerate(lengths):
        alone = encoder(inputs[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(together[row, :length], alone[0])


@pytest.mark.parametrize("kind", ["lstm", "sru", "qrnn"])
def test_with_padding_among_the_words_and_stacked_layers_as_on_a_gpu(kind, monkeypatch):
    encoder = build(kind).double()
    mask = ragged_mask(4, 9, 0, 1)
    # Padding may be anything.
    inputs = torch.randn(4, 9, 5, dtype=torch.float64).masked_fill(~mask.unsqueeze(-1), math.nan)
    inputs.requires_grad_()

    def outcome():
        states = encoder(inputs, mask)
        return [states, *torch.autograd.grad(states.exp().sum(), [inputs, *encoder.parameters()])]

    expected = outcome()
    with monkeypatch.context() as patches:
        patches.setattr(torch.Tensor, "is_cuda", True)
        patches.setattr(projected_lstm, "_MAX_GRAPH_SIZE", 0)
        actual = outcome()
    torch.testing.assert_close(actual, expected)


@each_kind
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_a_batch_without_words(kind, shape):
    encoder, inputs = build(kind), torch.zeros(*shape, 5, requires_grad=True)
    outputs = encoder(inputs, torch.zeros(shape, dtype=torch.bool))
    assert outputs.shape == (*shape, 16)
    if kind != "bert":
        outputs.sum().backward()
        # There are no inputs that could have a gradient.
        gradients = [parameter.grad for parameter in encoder.parameters()]
        assert not any(gradient.any() for gradient in gradients if gradient is not None)


@pytest.mark.parametrize("kind", ["lstm", "sru"])
def test_compiled_it_has_the_same_states_and_gradients(kind):
    encoder = build(kind)
    inputs, mask = torch.randn(3, 9, 5, requires_grad=True), ragged_mask(4, 9, 1)
    leaves = [inputs, *encoder.parameters()]
    torch.compiler.reset()
    plain, compiled = (
        (states, *torch.autograd.grad(states.square().sum(), leaves))
        for states in (encoder(inputs, mask), torch.compile(encoder, backend="eager")(inputs, mask))
    )
    torch.testing.assert_close(compiled, plain)


CHECKPOINTED = [*((kind, {}) for kind in CONTEXTUALIZERS), ("lstm", {"implementation": "torch"})]


@pytest.mark.parametrize(("kind", "options"), CHECKPOINTED)
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointed_it_has_the_same_states_and_gradients(kind, options, use_reentrant):
    encoder = build(kind, **options).train()
    inputs, mask = torch.randn(3, 9, 5, requires_grad=True), ragged_mask(4, 9, 1)

    def outcome(encode):
        encoder.zero_grad()
        inputs.grad = None
        # Dropout, if the encoder has any.
        torch.manual_seed(1)
        states = encode(inputs, mask)
        states.square().sum().backward()
        return [states, inputs.grad, *(parameter.grad for parameter in encoder.parameters())]

    checkpointed = outcome(partial(checkpoint, encoder, use_reentrant=use_reentrant))
    for actual, expected in zip(checkpointed, outcome(encoder), strict=True):
        assert actual.equal(expected)


def test_derivatives_cannot_be_differentiated():
    inputs, mask = torch.randn(3, 9, 5, requires_grad=True), ragged_mask(4, 9, 1)
    with pytest.raises(RuntimeError, match="without `create_graph=True`"):
        # The gradient of a sum is constant, so that it requires no gradient itself.
        torch.autograd.grad(build("lstm")(inputs, mask).sum(), inputs, create_graph=True)


@each_kind
def test_under_autocast_the_states_are_float32_and_close(kind):
    encoder = build(kind, return_all_layers=True)
    inputs, mask = torch.randn(3, 9, 5), ragged_mask(4, 9, 1)
    exact = encoder(inputs, mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layers = encoder(inputs, mask)
        layers[-1].square().mean().backward()
    assert all(parameter.grad is not None for parameter in encoder.parameters())
    for layer, expected in zip(layers[1:], exact[1:]):
        assert layer.dtype == torch.float32
        # Some roundings of bfloat16, which has 8 bits.
        assert (layer - expected).norm() < 0.03 * expected.norm()


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("lstm", "input_dim", 0),
        ("sru", "num_layers", 0),
        ("lstm", "dropout", 1.0),
        ("lstm", "memory_cell_clip_value", 0.0),
        ("lstm", "implementation", "fast"),
        ("transformer", "input_dim", 0),
        ("bert", "input_dim", 0),
    ],
)
def test_bad_parameters(kind, key, value):
    with pytest.raises(
        ConfigurationError, match=rf"^contextualizer\.{key} must be .*, got {value!r}"
    ):
        build(kind, **{key: value})


@pytest.mark.parametrize("clips", [(3.0, 3.0), (0.3, 0.2), (None, None)])
def test_without_layer_norm_every_layer_is_that_of_elmo_lstm(clips):
    names = ("memory_cell_clip_value", "state_projection_clip_value")
    options = {"layer_norm": False, "return_all_layers": True, **dict(zip(names, clips))}
    # So large that states are clipped.
    encoder = randomise(build("lstm", **options)).double()
    # ElmoLstm has one input for both directions.
    encoder.backward_input_projection.load_state_dict(encoder.forward_input_projection.state_dict())
    elmo = ElmoLstm(8, 8, 11, 3, False, 0.0, *clips).double()
    for name in ("forward", "backward"):
        for index, layer in enumerate(getattr(encoder, f"{name}_layers")):
            getattr(elmo, f"{name}_layer_{index}").load_state_dict(layer.state_dict())
    inputs, mask = torch.randn(3, 9, 5, dtype=torch.float64), ragged_mask(4, 9, 1)
    layers = encoder(inputs, mask)
    projected = encoder.forward_input_projection(inputs)
    torch.testing.assert_close(layers[0], torch.cat([projected] * 2, -1) * mask.unsqueeze(-1))
    torch.testing.assert_close(torch.stack(layers[1:]), elmo(projected, mask))


@pytest.mark.parametrize("kind", ["lstm", "sru", "qrnn"])
def test_at_first_it_forgets_little(kind):
    layer = build(kind).forward_layers[0]
    bias = layer.state_linearity.bias if kind == "lstm" else layer.input_linearity.bias
    assert bias[11:22].eq(1).all()
    assert not bias[:11].any()
    assert not bias[22:].any()


@pytest.mark.parametrize("kind", ["sru", "qrnn"])
def test_at_first_the_weights_have_the_variance_of_the_paper(kind):
    layer = build(kind, hidden_dim=20, cell_size=50).forward_layers[0]
    for linearity in (layer.input_linearity, layer.state_projection):
        variance = 1 / linearity.weight.size(1)
        assert linearity.weight.var().item() == pytest.approx(variance, rel=0.2)


def test_dropout_does_not_affect_residual_connections_and_evaluation():
    encoder = build("lstm", dropout=0.5, return_all_layers=True).train()
    inputs, mask = torch.randn(3, 9, 5), ragged_mask(4, 9, 1)
    assert torch.equal(encoder(inputs, mask)[0], encoder(inputs, mask)[0])
    assert not torch.equal(encoder(inputs, mask)[1], encoder(inputs, mask)[1])
    encoder.eval()
    assert torch.equal(encoder(inputs, mask)[-1], encoder(inputs, mask)[-1])


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (
            {"type": "lstm", "input_size": 8, "hidden_size": 8, "bidirectional": True},
            "returns only its last layer",
        ),
        ({"type": "pass_through", "input_dim": 8}, "outputs of 8; the outputs must have 16"),
    ],
)
def test_encoders_that_are_no_contextualizers(encoder, message):
    with pytest.raises(ConfigurationError, match=message):
        Seq2SeqEncoder.from_params(Params({**ADAPTER, "encoder": encoder}))


@pytest.mark.parametrize("kind", ["transformer", "gated_cnn"])
def test_the_adapter_reads_a_long_sentence_in_windows(kind):
    encoder = build(kind)
    if kind == "transformer":
        assert encoder.max_length == encoder.encoder._position.positional_encoding.size(1)
    encoder.max_length = 4
    check_windows(encoder, 4)
