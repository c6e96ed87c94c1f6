"""Where there is no GPU, the other tests interpret Triton's kernels. This one compiles them."""

import os
import subprocess
import sys

import pytest

# Triton decides when it decorates a function whether to interpret it, so a process of its own.
COMPILE = """
from types import SimpleNamespace

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from allennlp_semfit.modules.kernels import projected_lstm, triton_ops

gpu = {
    "get_current_target": lambda: GPUTarget("cuda", 80, 32),
    "get_current_device": lambda: 0,
    "get_current_stream": lambda device: 0,
}
driver.set_active(SimpleNamespace(**gpu))
compiled = set()


def compile_only(kernel, grid):
    def launch(*args, **kwargs):
        assert kernel.warmup(*args, grid=grid, **kwargs).asm["cubin"]
        compiled.add(kernel.__name__)
    return launch


JITFunction.__getitem__ = compile_only
projected_lstm.select_ops = lambda *_: triton_ops
torch.Tensor.is_cuda = True
projected_lstm._MAX_GRAPH_SIZE = 0

for dtype, layer_norm in ((torch.bfloat16, True), (torch.float32, False)):
    layers = torch.nn.ModuleList([projected_lstm.ProjectedLstm(33, 301, layer_norm, 3.0, 3.0)])
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        outputs = projected_lstm.run_in_lockstep(layers, torch.randn(1, 5, 33), [3, 2])
    outputs.sum().backward()
print(*sorted(compiled))
"""


def test_the_kernels_compile_for_a_gpu(tmp_path):
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    command = [sys.executable, "-c", COMPILE]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    kernels = ["_cell_backward", "_cell_forward", "_state_backward", "_state_forward"]
    assert output.stdout.split() == kernels
