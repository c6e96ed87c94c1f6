import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allennlp_semfit.common import cpu
from allennlp_semfit.modules.kernels import products
from allennlp_semfit.modules.kernels.projected_lstm import ProjectedLstm, run_in_lockstep
from tests.modules.kernels.common import results_of
from tests.tolerance import assert_as_exact_as, assert_exact_sum

HAS_ONEDNN = hasattr(torch.ops.mkldnn, "_linear_pointwise")
SIZES = st.integers(0, 20)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _without_onednn(monkeypatch):
    """PyTorch's own product serves where it was built without oneDNN."""
    if not HAS_ONEDNN:
        monkeypatch.setattr(products, "_linear", torch.nn.functional.linear)


@pytest.fixture
def prefer_onednn(monkeypatch):
    """A function that sets whether products in float32 are oneDNN's."""
    return lambda prefers: monkeypatch.setattr(products, "_prefers_onednn", lambda: prefers)


@pytest.mark.parametrize(
    ("cpuinfo", "with_onednn"),
    [
        ("vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 avx512f\n", True),
        ("vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2\n", False),
        ("vendor_id\t: GenuineIntel\nflags\t\t: fpu avx2 avx512f\n", False),
        ("Features\t: fp asimd\n", False),
    ],
)
def test_onednn_serves_where_mkl_has_no_avx512(monkeypatch, tmp_path, cpuinfo, with_onednn):
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    monkeypatch.setattr(cpu, "_CPUINFO", path)
    products._prefers_onednn.cache_clear()
    try:
        selected = products.select_product(CPU, torch.float32)
    finally:
        products._prefers_onednn.cache_clear()
    assert (selected is not torch.mm) is (with_onednn and HAS_ONEDNN)
    for dtype in (torch.float64, torch.bfloat16):
        assert products.select_product(CPU, dtype) is torch.mm
    assert products.select_product(torch.device("cuda"), torch.float32) is torch.mm


@given(SIZES, SIZES, SIZES, st.booleans(), st.booleans())
def test_products(rows, inner, columns, transposes_left, transposes_right):
    left = torch.randn(inner, rows).mT if transposes_left else torch.randn(rows, inner)
    right = torch.randn(columns, inner).mT if transposes_right else torch.randn(inner, columns)
    product = products._multiply_with_onednn(left, right)
    assert product.is_contiguous()
    assert_exact_sum(product, left.double() @ right.double(), left.abs() @ right.abs(), inner + 1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("frozen", [None, "inputs", "weight"])
def test_linear(prefer_onednn, bias, frozen):
    linear = products.Linear(5, 3, bias=bias)
    if frozen == "weight":
        linear.weight.requires_grad_(False)
    inputs = torch.randn(7, 5, requires_grad=frozen != "inputs")
    weights = torch.randn(7, 3)
    results = []
    for prefers_onednn in (True, False):
        prefer_onednn(prefers_onednn)
        outputs = linear(inputs)
        leaves = [leaf for leaf in (inputs, *linear.parameters()) if leaf.requires_grad]
        results.append((outputs, *torch.autograd.grad((outputs * weights).sum(), leaves)))
        with torch.autocast("cpu", torch.bfloat16):
            assert linear(inputs).dtype == torch.bfloat16
    for actual, expected in zip(*results):
        torch.testing.assert_close(actual, expected)


def test_linear_has_pytorchs_errors(prefer_onednn):
    prefer_onednn(True)
    linear = products.Linear(5, 3)
    for inputs in (torch.randn(7, 4), torch.randn(7, 5).double()):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied|same dtype"):
            linear(inputs)


def test_the_lstm_with_onednn(prefer_onednn):
    prefer_onednn(True)
    layers = torch.nn.ModuleList([ProjectedLstm(6, 9, True, 3.0, 3.0)])
    inputs = torch.randn(1, 20, 6)

    def read(layers, inputs):
        return run_in_lockstep(layers, inputs, [4] * 5)

    actual = results_of(read, layers, inputs)
    exact = results_of(read, copy.deepcopy(layers).double(), inputs.double())
    layers[0].implementation = "torch"
    for results in zip(actual, results_of(read, layers, inputs), exact):
        assert_as_exact_as(*results)
