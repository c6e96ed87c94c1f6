"""What tests of the CPU and GPU kernels share."""

import functools

import pytest
import torch

from allennlp_semfit.modules.implementation import native_kernels

# What each implementation supports. Triton's interpreter, which runs where there is no GPU,
# truncates to bfloat16 where a GPU rounds.
SUPPORTED = [
    *(("torch", dtype) for dtype in (torch.float32, torch.bfloat16, torch.float16)),
    *(("native", dtype) for dtype in (torch.float32, torch.bfloat16)),
    *(("triton", dtype) for dtype in (torch.float32, torch.float16)),
    *([("triton", torch.bfloat16)] if torch.cuda.is_available() else []),
]


# Those that this CPU has, of the ones that the kernels are compiled for.
INSTRUCTION_SETS = [
    name
    for name in ("default", "avx2", "avx512")
    if native_kernels.select_instruction_set(name) == name
]


def each_instruction_set(test):
    """Runs a test with each instruction set that the CPU has, the parameter `instruction_set`."""

    @pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
    @functools.wraps(test)
    def wrapped(instruction_set, **kwargs):
        native_kernels.select_instruction_set(instruction_set)
        try:
            test(instruction_set=instruction_set, **kwargs)
        finally:
            native_kernels.select_instruction_set("avx512")

    return wrapped
