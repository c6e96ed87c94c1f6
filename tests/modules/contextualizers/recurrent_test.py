import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.modules.contextualizers.recurrent import ElementwiseRecurrentLayer
from tests.modules.kernels.common import (
    batch_sizes_of,
    by_sentence,
    check_errors,
    randomise,
    results_of,
)

pytestmark = pytest.mark.gpu

KINDS = pytest.mark.parametrize("is_sru", [True, False], ids=["sru", "qrnn"])


def layer_of(*sizes, layer_norm=True, **kwargs):
    return randomise(ElementwiseRecurrentLayer(*sizes, layer_norm=layer_norm, **kwargs))


def read_plainly(layer, sentence):
    """What `layer` makes of one sentence, shape `(length, hidden_dim)`, by its definition."""
    state = sentence.new_zeros(layer.cell_size)
    outputs = []
    for previous, word in zip([torch.zeros_like(sentence[0]), *sentence], sentence):
        window = torch.cat([word, previous]) if layer.peepholes is None else word
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
    is_sru=st.booleans(),
    layer_norm=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_it_is_the_recurrence_of_its_definition(lengths, hidden_dim, seed, **options):
    torch.manual_seed(seed)
    layer = layer_of(hidden_dim, **options).double()
    lengths.sort(reverse=True)
    inputs = torch.randn(sum(lengths), hidden_dim, dtype=torch.float64)
    actual = results_of(lambda layer, words: layer(words, batch_sizes_of(lengths)), layer, inputs)
    expected = results_of(lambda *x: by_sentence(read_plainly, *x, lengths), layer, inputs)
    torch.testing.assert_close(actual, expected)


@KINDS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_error_is_at_most_twice_that_of_the_plain_path(is_sru, dtype):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    layer = layer_of(33, 301, is_sru=is_sru).to(device)
    lengths = [5, 5, 3, 1]
    check_errors(
        lambda layer, words: layer(words, batch_sizes_of(lengths)),
        lambda *x: by_sentence(read_plainly, *x, lengths),
        layer,
        torch.randn(sum(lengths), 33, device=device),
        dtype,
    )
