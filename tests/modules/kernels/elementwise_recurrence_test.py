import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.modules.kernels.elementwise_recurrence import ElementwiseRecurrentLayer
from tests.modules.kernels.common import (
    SUPPORTED,
    batch_sizes_of,
    by_sentence,
    check_errors,
    device_for,
    randomise,
    results_of,
)

pytestmark = pytest.mark.gpu

SRU = {"window_size": 1, "peepholes": True}
QRNN = {"window_size": 2, "peepholes": False}
KINDS = pytest.mark.parametrize("kind", [SRU, QRNN], ids=["sru", "qrnn"])


def layer_of(*sizes, layer_norm=True, **kwargs):
    return randomise(ElementwiseRecurrentLayer(*sizes, layer_norm=layer_norm, **kwargs))


def read_plainly(layer, sentence):
    """What `layer` makes of one sentence, shape `(length, hidden_dim)`, by its definition."""
    state = sentence.new_zeros(layer.cell_size)
    padding = sentence.new_zeros(layer.window_size - 1, layer.hidden_dim)
    padded = torch.cat([padding, sentence])
    outputs = []
    for position in range(len(sentence)):
        # The current word first.
        window = padded[position : position + layer.window_size].flip(0).flatten()
        z, f, o, *skipped = layer.input_linearity(window).split(layer.cell_size)
        dtype = z.dtype
        if layer.peepholes is None:
            z = z.tanh()
        else:
            f, o = f + layer.peepholes[0] * state, o + layer.peepholes[1] * state
        state = f.sigmoid() * state + (1 - f.sigmoid()) * z
        output = o.sigmoid() * state
        if skipped:
            output = output + (1 - o.sigmoid()) * skipped[0]
        projected = layer.state_projection(output.to(dtype))
        outputs.append(layer.layer_norm(projected.to(layer.state_projection.weight.dtype)))
    return torch.stack(outputs)


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    hidden_dim=st.integers(2, 7),
    cell_size=st.integers(1, 20),
    window_size=st.integers(1, 3),
    peepholes=st.booleans(),
    layer_norm=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_it_is_the_recurrence_of_its_definition(lengths, hidden_dim, seed, **options):
    torch.manual_seed(seed)
    # In float64, so with PyTorch's operations: the next test compares the others.
    layer = layer_of(hidden_dim, **options).double()
    lengths.sort(reverse=True)
    inputs = torch.randn(sum(lengths), hidden_dim, dtype=torch.float64)
    actual = results_of(lambda layer, words: layer(words, batch_sizes_of(lengths)), layer, inputs)
    expected = results_of(lambda *x: by_sentence(read_plainly, *x, lengths), layer, inputs)
    torch.testing.assert_close(actual, expected)


def check(kind, implementation, dtype, device, lengths):
    layer = layer_of(33, 301, implementation=implementation, **kind).to(device)
    inputs = torch.randn(sum(lengths), 33, device=device)
    sizes = batch_sizes_of(lengths)
    check_errors(
        lambda layer, words: layer(words, sizes),
        lambda *x: by_sentence(read_plainly, *x, lengths),
        layer,
        inputs,
        dtype,
    )


@KINDS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_native_kernels_are_as_exact_as_the_plain_path(instruction_set, kind, dtype):
    check(kind, "native", dtype, "cpu", [5, 5, 3, 1])


@KINDS
@pytest.mark.parametrize(
    ("implementation", "dtype"), [case for case in SUPPORTED if case[0] != "native"]
)
def test_the_others_are_as_exact_as_the_plain_path(monkeypatch, kind, dtype, implementation):
    check(kind, implementation, dtype, device_for(implementation, monkeypatch), [4, 4, 4])


@KINDS
def test_several_threads_compute_the_same(kind):
    # More cells than one thread takes.
    layer = layer_of(3, 70_001, implementation="native", **kind)
    inputs = torch.randn(3, 3)
    results = []
    try:
        for num_threads in (1, 3):
            torch.set_num_threads(num_threads)
            results.append(results_of(lambda layer, words: layer(words, [2, 1]), layer, inputs))
    finally:
        torch.set_num_threads(1)
    for one, several in zip(*results):
        scale = one.abs().max()
        torch.testing.assert_close(one / scale, several / scale)


@pytest.mark.parametrize("batch_sizes", [[1, 1], [1, 2], []])
def test_batch_sizes_of_other_words_are_an_error(batch_sizes):
    with pytest.raises(ValueError, match="for 3 words, it must add up to 3"):
        layer_of(5, 6, **SRU)(torch.zeros(3, 5), batch_sizes)


@KINDS
@pytest.mark.parametrize("implementation", ["torch", "native"])
def test_no_words_at_all(kind, implementation):
    layer = layer_of(5, 6, implementation=implementation, **kind)
    outputs, *gradients = results_of(
        lambda layer, words: layer(words, []), layer, torch.zeros(0, 5)
    )
    assert outputs.shape == (0, 5)
    assert not any(gradient.any() for gradient in gradients)
