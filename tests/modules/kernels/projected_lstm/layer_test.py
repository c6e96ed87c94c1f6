import copy

import pytest
import torch
from allennlp.modules.lstm_cell_with_projection import LstmCellWithProjection
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.modules.kernels.projected_lstm import function
from allennlp_semfit.modules.kernels.projected_lstm.layer import ProjectedLstm, run_in_lockstep
from tests.modules.kernels.common import SUPPORTED, batch_sizes_of, loss_of, rows_of
from tests.modules.kernels.projected_lstm.plain_projected_lstm import read_plainly

# So narrow that some values are clipped and some are not.
NARROW = (0.4, 0.3)


def layer_of(hidden_dim, cell_size, layer_norm=True, clips=NARROW, dtype=torch.float64):
    layer = ProjectedLstm(hidden_dim, cell_size, layer_norm, *clips)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return layer.to(dtype)


def assert_same_gradients(layers, references, **tolerance):
    for layer, reference in zip(layers, references):
        expected = dict(reference.named_parameters())
        assert expected
        for name, parameter in layer.named_parameters():
            torch.testing.assert_close(parameter.grad, expected[name].grad, **tolerance)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(1, 7),
    st.integers(1, 9),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([NARROW, (3.0, 3.0), (None, None), (0.2, None), (None, 0.1)]),
    st.integers(0, 1000),
)
def test_layers_equal_the_plain_recurrence_in_both_directions(
    lengths, hidden_dim, cell_size, num_layers, layer_norm, clips, seed
):
    torch.manual_seed(seed)
    lengths = sorted(lengths, reverse=True)
    layers = [layer_of(hidden_dim, cell_size, layer_norm, clips) for _ in range(num_layers)]
    references = copy.deepcopy(layers)
    inputs = torch.randn(num_layers, sum(lengths), hidden_dim, dtype=torch.float64)
    inputs.requires_grad_()
    reference_inputs = inputs.detach().clone().requires_grad_()
    sizes = batch_sizes_of(lengths)

    outputs = run_in_lockstep(layers, inputs, sizes)
    weights = torch.randn_like(outputs)
    (outputs * weights).sum().backward()
    # The reference reads one sentence at a time, of one layer.
    for number, reference in enumerate(references):
        for sentence, length in enumerate(lengths):
            rows = rows_of(sentence, length, sizes)
            (expected,) = read_plainly(reference, reference_inputs[number, rows].unsqueeze(0))
            torch.testing.assert_close(outputs[number, rows], expected)
            (expected * weights[number, rows]).sum().backward()

    torch.testing.assert_close(inputs.grad, reference_inputs.grad)
    assert_same_gradients(layers, references)


@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("clips", [NARROW, (None, None)])
def test_gradients_of_everything_by_finite_differences(layer_norm, clips):
    layers = [layer_of(3, 4, layer_norm, clips) for _ in range(2)]
    inputs = torch.randn(2, 9, 3, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in layers[0].named_parameters()]
    assert len(names) == 4 + 2 * layer_norm
    parameters = [parameter for layer in layers for parameter in layer.parameters()]

    def read(inputs, *_):
        return run_in_lockstep(layers, inputs, [4, 3, 1, 1])

    assert torch.autograd.gradcheck(read, (inputs, *parameters))


def test_the_clip_values_are_reached_in_these_tests():
    layer = layer_of(3, 4, layer_norm=False)
    outputs = layer(torch.randn(4, 6, 3, dtype=torch.float64))
    on_the_bound = outputs.abs() == NARROW[1]
    assert on_the_bound.any()
    assert not on_the_bound.all()


@pytest.mark.parametrize("frozen", ["inputs", "weights"])
def test_frozen_parameters_have_no_gradient_and_the_others_the_same(frozen):
    layer = layer_of(5, 6)
    inputs = torch.randn(3, 4, 5, dtype=torch.float64)
    everything = torch.autograd.grad(
        layer(inputs.requires_grad_()).square().sum(), [inputs, *layer.parameters()]
    )
    inputs.requires_grad_(frozen != "inputs")
    layer.requires_grad_(frozen != "weights")
    layer(inputs).square().sum().backward()
    if frozen == "inputs":
        assert inputs.grad is None
        for parameter, expected in zip(layer.parameters(), everything[1:]):
            torch.testing.assert_close(parameter.grad, expected)
    else:
        assert all(parameter.grad is None for parameter in layer.parameters())
        torch.testing.assert_close(inputs.grad, everything[0])


def test_one_forward_pass_serves_several_backward_passes():
    layer = layer_of(5, 6)
    inputs = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    loss = layer(inputs).square().sum()
    targets = [inputs, *layer.parameters()]
    first = torch.autograd.grad(loss, targets, retain_graph=True)
    second = torch.autograd.grad(loss, targets)
    for one, other in zip(first, second):
        assert torch.equal(one, other)


def test_without_gradients_the_states_are_the_same():
    layer = layer_of(5, 6)
    inputs = torch.randn(3, 4, 5, dtype=torch.float64)
    with torch.no_grad():
        quietly = layer(inputs)
    assert torch.equal(quietly, layer(inputs))


@pytest.mark.parametrize(("batch_size", "length"), [(0, 3), (3, 0), (0, 0)])
def test_no_words_at_all(batch_size, length):
    layer = layer_of(5, 6)
    inputs = torch.zeros(batch_size, length, 5, dtype=torch.float64, requires_grad=True)
    outputs = layer(inputs)
    assert outputs.shape == inputs.shape
    outputs.sum().backward()
    assert not layer.input_linearity.weight.grad.any()


def test_parameters_have_the_names_and_the_shapes_of_allennlps_cell():
    ours = {name: tensor.shape for name, tensor in layer_of(5, 6, False).state_dict().items()}
    theirs = LstmCellWithProjection(5, 5, 6).state_dict()
    assert ours == {name: tensor.shape for name, tensor in theirs.items()}


def test_changing_a_weight_before_the_backward_pass_is_an_error():
    layer = layer_of(5, 6)
    loss = layer(torch.randn(3, 4, 5, dtype=torch.float64)).sum()
    with torch.no_grad():
        layer.state_linearity.weight.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def errors_of(read, layers, inputs, truth):
    """The relative errors of outputs and gradients."""
    inputs = inputs.clone().requires_grad_()
    outputs = torch.stack(list(read(layers, inputs)))
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    found = [outputs, *torch.autograd.grad(loss_of(outputs), [inputs, *parameters])]
    return [float((f.double() - t).norm() / t.norm()) for f, t in zip(found, truth)]


def read_layers_plainly(layers, inputs):
    return [
        read_plainly(layer, own.view(4, 4, -1).transpose(0, 1)).transpose(0, 1).flatten(0, 1)
        for layer, own in zip(layers, inputs)
    ]


@pytest.mark.parametrize(("implementation", "dtype"), SUPPORTED)
@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("clips", [(0.2, 0.1), (None, None)])
def test_the_error_is_at_most_twice_that_of_the_plain_path(
    monkeypatch, dtype, layer_norm, clips, implementation
):
    """
    Against float64. More cells than a block of the kernels takes, and a dimension that is no power
    of two. The kernels run on a GPU where there is one, else in Triton's interpreter.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if implementation == "native":
        device = "cpu"
    elif implementation == "triton":
        pytest.importorskip("triton")
        if device == "cpu":
            # The interpreter takes tensors of the CPU.
            from allennlp_semfit.modules.kernels.projected_lstm import triton_ops

            monkeypatch.setattr(function, "_select_ops", lambda *_: (triton_ops, True))
    layers = [
        ProjectedLstm(33, 301, layer_norm, *clips, implementation).to(device) for _ in range(2)
    ]
    inputs = torch.randn(2, 4 * 4, 33, device=device)
    exact_layers = copy.deepcopy(layers)
    for layer in exact_layers:
        layer.double()
    exact_inputs = inputs.double().requires_grad_()
    exact_outputs = torch.stack(read_layers_plainly(exact_layers, exact_inputs))
    parameters = [parameter for layer in exact_layers for parameter in layer.parameters()]
    gradients = torch.autograd.grad(loss_of(exact_outputs), [exact_inputs, *parameters])
    truth = [exact_outputs.detach(), *gradients]

    with torch.autocast(device, dtype=dtype, enabled=dtype != torch.float32):
        plain = errors_of(read_layers_plainly, layers, inputs, truth)
        ours = errors_of(lambda *x: run_in_lockstep(*x, [4] * 4), layers, inputs, truth)
    if clips[0] and dtype != torch.float32:
        # In half precision a value is soon clipped in one and not in the other, and then has no
        # gradient there.
        ours, plain = ours[:1], plain[:1]
    for our_error, plain_error in zip(ours, plain):
        assert our_error <= 2 * plain_error + 2e-6
    assert max(plain) < (1e-5 if dtype == torch.float32 else 0.05)
