from ctypes import CDLL

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.modules.kernels import implementation, native_ops
from allennlp_semfit.modules.kernels.implementation import select_ops

pytestmark = pytest.mark.gpu

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _asked_for_the_first_time():
    implementation._runs.cache_clear()
    yield
    implementation._runs.cache_clear()


def choose(choice, dtype=torch.float32, parameter_dtype=torch.float32):
    return select_ops(choice, CPU, dtype, parameter_dtype).__name__.split(".")[-1]


def test_the_native_kernels_are_chosen_where_they_apply():
    assert choose("auto") == choose("native") == "native_ops"
    assert choose("auto", torch.bfloat16) == "native_ops"
    assert choose("auto", torch.float16) == "torch_ops"
    assert choose("auto", torch.float64, torch.float64) == "torch_ops"
    assert choose("auto", torch.bfloat16, torch.bfloat16) == "torch_ops"
    assert choose("torch") == "torch_ops"
    with pytest.raises(ConfigurationError, match='"native" is not available for torch.float16'):
        choose("native", torch.float16)
    with pytest.raises(ConfigurationError, match='"triton" is .* on the device "cpu"'):
        choose("triton")


def test_without_the_native_kernels(monkeypatch, caplog):
    monkeypatch.setattr(native_ops, "native_kernels", lambda: CDLL("missing.so"))
    assert choose("auto") == choose("auto") == "torch_ops"
    (record,) = caplog.records
    assert "missing.so" in record.message
    with pytest.raises(ConfigurationError, match='"native" is not available'):
        choose("native")


def test_triton_falls_back_to_pytorch(monkeypatch, caplog):
    pytest.importorskip("triton")
    from allennlp_semfit.modules.kernels import triton_ops

    # Without a GPU, Triton's interpreter runs on tensors of the CPU.
    device = torch.device("cuda") if torch.cuda.is_available() else CPU
    assert implementation._runs("triton", device)
    implementation._runs.cache_clear()

    def no_compiler(*arguments):
        raise RuntimeError("Failed to find C compiler")

    monkeypatch.setattr(triton_ops, "state_forward", no_compiler)
    assert not implementation._runs("triton", device)
    assert "Failed to find C compiler" in caplog.text
