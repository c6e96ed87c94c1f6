from math import inf

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from allennlp_semfit.modules.kernels import native_ops, torch_ops
from allennlp_semfit.modules.kernels.native_ops import native_kernels
from tests.tolerance import assert_as_exact_as

DTYPES = st.sampled_from([torch.float32, torch.bfloat16])
CLIPS = st.sampled_from([inf, 0.5])
ROWS = st.integers(1, 3)
# Around the widths of the vectors, and beyond.
SIZES = st.one_of(st.integers(1, 40), st.sampled_from([128, 1_000]))


@pytest.fixture(
    scope="module",
    params=[width for width in (4, 8, 16) if native_kernels().select_vector_width(width) == width],
)
def vector_width(request):
    """Each width of vectors that this CPU has, of those that the kernels are compiled for."""
    yield native_kernels().select_vector_width(request.param)
    native_kernels().select_vector_width(16)


def cell_tensors(rows, cells, dtype):
    """The arguments of `cell_backward` besides the clip value, and what it writes."""
    read = {
        "grad_hidden": torch.randn(rows, cells).to(dtype),
        # Activations, but for the candidate's sign.
        "gates": torch.rand(rows, 4 * cells).to(dtype),
        "bias": torch.randn(4 * cells),
        "previous_cell_state": torch.randn(rows, cells),
        "cell_state": torch.randn(rows, cells),
        "bias_sums": None,
    }
    written = {
        "grad_cell_state": torch.randn(rows, cells),
        "grad_gates": torch.zeros(rows, 4 * cells, dtype=dtype),
        "hidden": torch.zeros(rows, cells, dtype=dtype),
    }
    return read, written


def assert_as_exact(function, read, written, clip_value, **others):
    """
    `function` of `native_ops` writes what that of `torch_ops` writes in float64, as exactly as
    that of `torch_ops` in the same types.
    """

    def results(module, convert):
        outputs = {name: convert(tensor.clone()) for name, tensor in written.items()}
        inputs = {
            name: convert(value) if isinstance(value, torch.Tensor) else value
            for name, value in {**read, **others}.items()
        }
        getattr(module, function)(**inputs, **outputs, clip_value=clip_value)
        return outputs

    actual, plain = (results(module, lambda t: t) for module in (native_ops, torch_ops))
    exact = results(torch_ops, lambda t: t.double())
    for name in written:
        assert_as_exact_as(actual[name], plain[name], exact[name])


@settings(max_examples=50)
@given(ROWS, SIZES, DTYPES, CLIPS, st.booleans(), st.integers(1, 3))
# Beyond what one thread takes.
@example(3, 70_000, torch.float32, 0.5, True, 3)
@example(2, 70_000, torch.bfloat16, inf, False, 2)
def test_cells(vector_width, rows, cells, dtype, clip_value, has_previous, num_threads):
    torch.set_num_threads(num_threads)
    try:
        read, written = cell_tensors(rows, cells, dtype)
        if not has_previous:
            read["previous_cell_state"] = None
        assert_as_exact("cell_backward", read, written, clip_value)
        read = {
            "previous_cell_state": read["previous_cell_state"],
            "recurrent_gates": torch.randn(rows, 4 * cells).to(dtype) if has_previous else None,
            "bias": torch.randn(4 * cells),
        }
        written = {
            "gates": torch.randn(rows, 4 * cells).mul(3).to(dtype),
            "cell_state": torch.zeros(rows, cells),
            "hidden": torch.zeros(rows, cells, dtype=dtype),
        }
        assert_as_exact("cell_forward", read, written, clip_value)
    finally:
        torch.set_num_threads(1)


# In a layer norm of a few values, the terms of a gradient cancel, in any implementation.
@given(ROWS, SIZES.filter(lambda size: size > 15), DTYPES, CLIPS, st.booleans())
def test_states(vector_width, rows, size, dtype, clip_value, has_norm):
    projected = torch.randn(rows, size).to(dtype)
    weight, bias = torch.randn(2, size) if has_norm else (None, None)
    eps = 1e-5
    state = torch.zeros(rows, size)
    recurrent = state if dtype == torch.float32 else torch.zeros(rows, size, dtype=dtype)
    read = {"projected": projected, "weight": weight, "bias": bias}
    written = {"state": state, "recurrent": recurrent}
    if dtype == torch.float32:
        # It is not written then.
        native_ops.state_forward(**read, eps=eps, clip_value=clip_value, **written)
        assert recurrent is state
        written = {"state": torch.zeros(rows, size)}
        read["recurrent"] = torch.zeros(rows, size)
    assert_as_exact("state_forward", read, written, clip_value, eps=eps)
    grad_state = torch.randn(rows, size)
    # Of no sentence, or of fewer.
    grad_recurrent = torch.randn(rows - 1, size).to(dtype) if rows > 1 else None
    read = {"grad_recurrent": grad_recurrent, "projected": projected, "weight": weight}
    written = {"grad_state": grad_state, "grad_projected": torch.zeros(rows, size, dtype=dtype)}
    assert_as_exact("state_backward", read, written, clip_value, eps=eps)


def test_bfloat16_is_rounded_as_by_pytorch(vector_width):
    bits = torch.randint(-(2**31), 2**31, (1, 100_003)).to(torch.int32)
    # Ties, infinities, and NaNs that a carry would turn into something else.
    bits[0, :8] = torch.tensor([0x8000, 0x18000, 0x7F800000, -0x800000, 0x7FFFFFFF, -1, 0, 1])
    values = bits.view(torch.float32)
    rounded = torch.zeros(values.shape, dtype=torch.bfloat16)
    native_ops.state_backward(values, None, torch.zeros_like(rounded), None, 0.0, inf, rounded)
    torch.testing.assert_close(rounded, values.bfloat16(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_extreme_gates(vector_width, dtype):
    values = torch.tensor([1e-30, 1e-4, 20, 80, 100, 1e30, torch.inf])
    values = torch.cat([values, -values, torch.tensor([torch.nan])]).to(dtype)
    results = []
    for module in (native_ops, torch_ops):
        gates = values.repeat(4).unsqueeze(0)
        cell_state = torch.zeros(1, len(values))
        hidden = torch.zeros(1, len(values), dtype=dtype)
        bias = torch.zeros(4 * len(values))
        module.cell_forward(gates, None, bias, torch.ones_like(cell_state), 3.0, cell_state, hidden)
        assert not hidden[:, :-1].isnan().any()
        results.append((gates, cell_state, hidden))
    for actual, expected in zip(*results):
        # An error of one rounding near 1, because a sigmoid is at least e^-87.
        eps = torch.finfo(dtype).eps
        torch.testing.assert_close(actual, expected, rtol=eps, atol=eps, equal_nan=True)
