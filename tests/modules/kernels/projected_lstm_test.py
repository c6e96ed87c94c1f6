import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import layer_norm as normalize

from allennlp_semfit.modules.kernels.projected_lstm import ProjectedLstm, run_in_lockstep
from tests.modules.kernels.common import (
    SUPPORTED,
    batch_sizes_of,
    by_sentence,
    check_errors,
    device_for,
    randomise,
    results_of,
)
from tests.tolerance import assert_same_but_for_rounding

pytestmark = pytest.mark.gpu

# So narrow that some values are clipped and some are not.
NARROW = (0.4, 0.3)


def layers_of(num_layers, hidden_dim, cell_size, layer_norm=True, clips=NARROW):
    return torch.nn.ModuleList(
        randomise(ProjectedLstm(hidden_dim, cell_size, layer_norm, *clips))
        for _ in range(num_layers)
    )


def read_plainly(layer, sentence):
    """What `layer` makes of one sentence, shape `(length, hidden_dim)`, by its definition."""
    state = sentence.new_zeros(layer.hidden_dim)
    cell_state = sentence.new_zeros(layer.cell_size)
    outputs = []
    for word in sentence:
        gates = layer.input_linearity(word) + layer.state_linearity(state)
        i, f, m, o = gates.chunk(4)
        cell_state = f.sigmoid() * cell_state + i.sigmoid() * m.tanh()
        cell_state = clipped(cell_state, layer.memory_cell_clip_value)
        state = layer.state_projection(o.sigmoid() * cell_state.tanh())
        state = clipped(state, layer.state_projection_clip_value)
        if isinstance(layer.layer_norm, torch.nn.LayerNorm):
            norm = layer.layer_norm
            state = normalize(state, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        outputs.append(state)
    return torch.stack(outputs)


def clipped(tensor, clip_value):
    return tensor if clip_value is None else tensor.clamp(-clip_value, clip_value)


def both_ways(lengths):
    """Ours, and the plain path, which reads one sentence at a time, of one layer."""
    return (
        lambda layers, inputs: run_in_lockstep(layers, inputs, batch_sizes_of(lengths)),
        lambda layers, inputs: torch.stack(
            [by_sentence(read_plainly, *pair, lengths) for pair in zip(layers, inputs)]
        ),
    )


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(1, 7),
    st.integers(1, 9),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([NARROW, (3.0, 3.0), (None, None), (0.2, None), (None, 0.1)]),
    st.integers(0, 1000),
)
def test_layers_equal_the_plain_recurrence(
    lengths, hidden_dim, cell_size, num_layers, layer_norm, clips, seed
):
    torch.manual_seed(seed)
    layers = layers_of(num_layers, hidden_dim, cell_size, layer_norm, clips).double()
    lengths.sort(reverse=True)
    inputs = torch.randn(num_layers, sum(lengths), hidden_dim, dtype=torch.float64)
    actual, expected = (results_of(read, layers, inputs) for read in both_ways(lengths))
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize(("implementation", "dtype"), SUPPORTED)
@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("clips", [(0.2, 0.1), (None, None)])
def test_the_error_is_at_most_twice_that_of_the_plain_path(
    monkeypatch, dtype, layer_norm, clips, implementation
):
    # More cells than a block of the kernels takes, and a dimension that is no power of two.
    layers = torch.nn.ModuleList(
        ProjectedLstm(33, 301, layer_norm, *clips, implementation) for _ in range(2)
    )
    device = device_for(implementation, monkeypatch)
    inputs = torch.randn(2, 16, 33, device=device)
    # In half precision, a value may be clipped, and so have no gradient, in only one of the two.
    outputs_only = clips[0] is not None and dtype != torch.float32
    check_errors(*both_ways([4] * 4), layers.to(device), inputs, dtype, outputs_only)


def test_more_sentences_than_programs_of_a_kernel(monkeypatch):
    # Narrow clips can make the values of a state nearly equal. To normalize them multiplies errors.
    layers = layers_of(1, 5, 6, clips=(None, None))
    device = device_for("triton", monkeypatch)
    inputs = torch.randn(1, 2 * 33, 5, device=device)
    check_errors(*both_ways([2] * 33), layers.to(device), inputs, torch.float32)


@pytest.mark.parametrize("frozen", ["inputs", "weights"])
def test_frozen_parameters_have_no_gradient_and_the_others_the_same(frozen):
    layers = layers_of(2, 5, 6)
    inputs = torch.randn(2, 12, 5, requires_grad=True)
    parameters = list(layers.parameters())

    def loss():
        return run_in_lockstep(layers, inputs, [3] * 4).square().sum()

    of_inputs, *of_parameters = torch.autograd.grad(loss(), [inputs, *parameters])
    inputs.requires_grad_(frozen != "inputs")
    layers.requires_grad_(frozen != "weights")
    loss().backward()
    actual = [tensor.grad for tensor in (inputs, *parameters)]
    if frozen == "inputs":
        expected = [None, *of_parameters]
    else:
        expected = [of_inputs, *[None] * len(parameters)]
    torch.testing.assert_close(actual, expected)


def test_one_forward_pass_serves_several_backward_passes():
    layers = layers_of(1, 5, 6)
    inputs = torch.randn(1, 12, 5, requires_grad=True)
    loss = run_in_lockstep(layers, inputs, [3] * 4).square().sum()
    targets = [inputs, *layers.parameters()]
    first = torch.autograd.grad(loss, targets, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(loss, targets), first, rtol=0, atol=0)


def test_changing_a_weight_before_the_backward_pass_is_an_error():
    (layer,) = layers = layers_of(1, 5, 6)
    loss = run_in_lockstep(layers, torch.randn(1, 12, 5), [3] * 4).sum()
    with torch.no_grad():
        layer.state_linearity.weight.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_layers_compute_the_same_with_several_threads_and_in_inference_mode(set_num_threads):
    layers, inputs = layers_of(2, 17, 33, clips=(3.0, 3.0)), torch.randn(2, 9, 17)
    read, _ = both_ways([3, 3, 2, 1])
    expected = results_of(read, layers, inputs)
    set_num_threads(2)
    for actual, of_one_thread in zip(results_of(read, layers, inputs), expected):
        assert_same_but_for_rounding(actual, of_one_thread)
    with torch.inference_mode():
        assert_same_but_for_rounding(read(layers, inputs), expected[0])
    with torch.no_grad():
        quietly = read(layers, inputs)
    assert_same_but_for_rounding(quietly, expected[0])
    assert not quietly.is_inference()


def test_weights_may_have_other_types_than_the_first():
    layers, inputs = layers_of(2, 17, 33, clips=(3.0, 3.0)), torch.randn(2, 9, 17)
    for parameter in [*layers[0].layer_norm.parameters(), *layers[1].parameters()]:
        # The same values take half the memory.
        parameter.data = parameter.data.bfloat16()
    converted = copy.deepcopy(layers).float()
    read, _ = both_ways([3, 3, 2, 1])
    with torch.no_grad():
        torch.testing.assert_close(read(layers, inputs), read(converted, inputs), rtol=0, atol=0)
