import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.modules.kernels.elementwise_recurrence import function
from allennlp_semfit.modules.kernels.elementwise_recurrence.layer import ElementwiseRecurrentLayer
from tests.modules.kernels.common import SUPPORTED, batch_sizes_of, loss_of, rows_of

SRU = {"window_size": 1, "tanh_candidate": False, "highway": True, "peepholes": True}
QRNN = {"window_size": 2, "tanh_candidate": True, "highway": False, "peepholes": False}
KINDS = pytest.mark.parametrize("kind", [SRU, QRNN], ids=["sru", "qrnn"])


def layer_of(hidden_dim, cell_size, *, layer_norm=True, implementation="auto", **kind):
    layer = ElementwiseRecurrentLayer(
        hidden_dim, cell_size, layer_norm=layer_norm, implementation=implementation, **kind
    )
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return layer


def read_plainly(layer, sentence):
    """What `layer` makes of one sentence, shape `(length, hidden_dim)`, by its definition."""
    state = sentence.new_zeros(layer.cell_size)
    padding = sentence.new_zeros(layer.window_size - 1, layer.hidden_dim)
    padded = torch.cat([padding, sentence])
    outputs = []
    for position in range(len(sentence)):
        # The current word first.
        window = padded[position : position + layer.window_size].flip(0).flatten()
        gates = layer.input_linearity(window).chunk(4 if layer.highway else 3)
        z, f, o = gates[:3]
        if layer.peepholes is not None:
            f, o = f + layer.peepholes[0] * state, o + layer.peepholes[1] * state
        if layer.tanh_candidate:
            z = z.tanh()
        state = f.sigmoid() * state + (1 - f.sigmoid()) * z
        output = o.sigmoid() * state
        if layer.highway:
            output = output + (1 - o.sigmoid()) * gates[3]
        projected = layer.state_projection(output.to(gates[0].dtype))
        outputs.append(layer.layer_norm(projected.to(layer.state_projection.weight.dtype)))
    return torch.stack(outputs)


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    hidden_dim=st.integers(2, 7),
    cell_size=st.integers(1, 20),
    window_size=st.integers(1, 3),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    seed=st.integers(0, 1000),
)
def test_it_is_the_recurrence_of_its_definition(
    lengths, hidden_dim, cell_size, window_size, flags, seed
):
    torch.manual_seed(seed)
    names = ("tanh_candidate", "highway", "peepholes", "layer_norm")
    options = {"window_size": window_size, **dict(zip(names, flags))}
    # In float64, so with PyTorch's operations: the next test compares the others.
    layer = layer_of(hidden_dim, cell_size, **options).double()
    reference = copy.deepcopy(layer)
    lengths = sorted(lengths, reverse=True)
    sizes = batch_sizes_of(lengths)
    inputs = torch.randn(sum(lengths), hidden_dim, dtype=torch.float64, requires_grad=True)
    outputs = layer(inputs, sizes)
    weights = torch.randn_like(outputs)
    (outputs * weights).sum().backward()

    expected_inputs = inputs.detach().clone().requires_grad_()
    for sentence, length in enumerate(lengths):
        rows = rows_of(sentence, length, sizes)
        expected = read_plainly(reference, expected_inputs[rows])
        torch.testing.assert_close(outputs[rows], expected)
        (expected * weights[rows]).sum().backward()
    torch.testing.assert_close(inputs.grad, expected_inputs.grad)
    for one, other in zip(layer.parameters(), reference.parameters()):
        torch.testing.assert_close(one.grad, other.grad)


def errors_of(read, layer, inputs, truth):
    inputs = inputs.clone().requires_grad_()
    outputs = read(layer, inputs)
    found = [outputs, *torch.autograd.grad(loss_of(outputs), [inputs, *layer.parameters()])]
    return [float((f.double() - t).norm() / t.norm()) for f, t in zip(found, truth)]


def check_errors(layer, dtype, lengths):
    """The errors against float64 are at most twice those of the plain path."""
    sizes = batch_sizes_of(lengths)
    device = layer.state_projection.weight.device
    inputs = torch.randn(sum(lengths), layer.hidden_dim, device=device)

    def plainly(layer, inputs):
        outputs = torch.zeros_like(inputs)
        for sentence, length in enumerate(lengths):
            rows = rows_of(sentence, length, sizes)
            outputs = outputs.index_copy(
                0, torch.tensor(rows, device=device), read_plainly(layer, inputs[rows])
            )
        return outputs

    exact = copy.deepcopy(layer).double()
    exact_inputs = inputs.double().requires_grad_()
    outputs = plainly(exact, exact_inputs)
    gradients = torch.autograd.grad(loss_of(outputs), [exact_inputs, *exact.parameters()])
    truth = [outputs.detach(), *gradients]
    with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
        plain = errors_of(plainly, layer, inputs, truth)
        ours = errors_of(lambda layer, inputs: layer(inputs, sizes), layer, inputs, truth)
    for our_error, plain_error in zip(ours, plain):
        assert our_error <= 2 * plain_error + 2e-6
    assert max(plain) < (1e-5 if dtype == torch.float32 else 0.1)


@KINDS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_native_kernels_are_as_exact_as_the_plain_path(instruction_set, kind, dtype):
    check_errors(layer_of(33, 301, implementation="native", **kind), dtype, [5, 5, 3, 1])


@KINDS
@pytest.mark.parametrize(
    ("implementation", "dtype"), [case for case in SUPPORTED if case[0] != "native"]
)
def test_the_others_are_as_exact_as_the_plain_path(monkeypatch, kind, dtype, implementation):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if implementation == "triton":
        pytest.importorskip("triton")
        if device == "cpu":
            # The interpreter takes tensors of the CPU.
            from allennlp_semfit.modules.kernels.elementwise_recurrence import triton_ops

            monkeypatch.setattr(function, "_select_ops", lambda *_: triton_ops)
    layer = layer_of(33, 301, implementation=implementation, **kind).to(device)
    check_errors(layer, dtype, [4, 4, 4])


@KINDS
def test_several_threads_compute_the_same(kind):
    # More cells than one thread takes.
    layer = layer_of(3, 70_001, implementation="native", **kind)
    inputs = torch.randn(3, 3)
    results = []
    try:
        for num_threads in (1, 3):
            torch.set_num_threads(num_threads)
            outputs = layer(inputs, [2, 1])
            results.append([outputs, *torch.autograd.grad(outputs.sum(), layer.parameters())])
    finally:
        torch.set_num_threads(1)
    for one, several in zip(*results):
        scale = one.abs().max()
        torch.testing.assert_close(one / scale, several / scale)


@KINDS
def test_gradients_by_finite_differences(kind):
    layer = layer_of(3, 4, **kind).double()
    inputs = torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda inputs, *_: layer(inputs, [4, 3, 1, 1]), (inputs, *layer.parameters())
    )


@KINDS
@pytest.mark.parametrize("batch_sizes", [[1, 1], [2, 2], [1, 2], []])
@pytest.mark.parametrize("implementation", ["torch", "auto"])
def test_batch_sizes_of_other_words_are_an_error(kind, batch_sizes, implementation):
    layer = layer_of(5, 6, implementation=implementation, **{**kind, "window_size": 1})
    with pytest.raises(ValueError, match="for 3 words, it must add up to 3"):
        layer(torch.zeros(3, 5), batch_sizes)


@KINDS
def test_no_words_at_all(kind):
    for implementation in ("torch", "auto"):
        layer = layer_of(5, 6, implementation=implementation, **kind)
        inputs = torch.zeros(0, 5, requires_grad=True)
        outputs = layer(inputs, [])
        assert outputs.shape == (0, 5)
        outputs.sum().backward()
        assert not layer.input_linearity.weight.grad.any()
