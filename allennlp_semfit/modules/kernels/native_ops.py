"""
The functions of `torch_ops`, each as one CPU kernel of `native_kernels.cpp`. The values are in
`float32` or `bfloat16`, and the tensors belong to one layer, without the dimension `layers`. All
arithmetic is in `float32`.
"""

import os
from ctypes import CDLL, c_bool, c_float, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Optional, Union

import torch

from allennlp_semfit.modules.kernels.torch_ops import new_bias_sums as new_bias_sums

# The arguments after the type and the numbers of rows, columns and threads.
_ARGUMENTS = {
    "cell_forward": [*[c_void_p] * 6, c_float],
    "cell_backward": [*[c_void_p] * 7, c_float],
    "state_forward": [*[c_void_p] * 5, c_float, c_float],
    "state_backward": [*[c_void_p] * 2, c_int64, *[c_void_p] * 3, c_float, c_float],
}
# The values of ATEN_CPU_CAPABILITY, which PyTorch reads too, and the vector widths.
_WIDTHS = {"default": 4, "avx2": 8}


@cache
def native_kernels() -> CDLL:
    """Raises `OSError` if the library was not built: see `setup.py`."""
    library = CDLL(str(Path(__file__).with_name("_native_kernels.so")))
    for name, arguments in _ARGUMENTS.items():
        function = getattr(library, name)
        function.argtypes = [c_bool, c_int64, c_int64, c_int64, *arguments]
        function.restype = None
    library.select_vector_width.argtypes = [c_int64]
    library.select_vector_width.restype = c_int64
    library.select_vector_width(_WIDTHS.get(os.environ.get("ATEN_CPU_CAPABILITY", ""), 16))
    return library


def _run(name: str, values: torch.Tensor, *arguments: Union[torch.Tensor, float, None]) -> None:
    """Runs a kernel on the rows of `values`. Tensors in `arguments` are passed as addresses."""
    rows, columns = values.shape
    getattr(native_kernels(), name)(
        values.dtype == torch.bfloat16,
        rows,
        columns,
        torch.get_num_threads(),
        *[
            argument.data_ptr() if isinstance(argument, torch.Tensor) else argument
            for argument in arguments
        ],
    )


def cell_forward(
    gates: torch.Tensor,
    recurrent_gates: Optional[torch.Tensor],
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: float,
    cell_state: torch.Tensor,
    hidden: torch.Tensor,
) -> None:
    states = (previous_cell_state, cell_state, hidden)
    _run("cell_forward", hidden, gates, recurrent_gates, bias, *states, clip_value)


def cell_backward(
    grad_hidden: torch.Tensor,
    gates: torch.Tensor,
    bias: torch.Tensor,
    previous_cell_state: Optional[torch.Tensor],
    clip_value: float,
    cell_state: torch.Tensor,
    grad_cell_state: torch.Tensor,
    grad_gates: torch.Tensor,
    hidden: torch.Tensor,
    bias_sums: Optional[torch.Tensor],
) -> None:
    read = (grad_hidden, gates, previous_cell_state, cell_state)
    written = (grad_cell_state, grad_gates, hidden)
    _run("cell_backward", hidden, *read, *written, clip_value)


def state_forward(
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    bias: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    state: torch.Tensor,
    recurrent: torch.Tensor,
) -> None:
    copy = None if recurrent.dtype == state.dtype else recurrent
    _run("state_forward", projected, projected, weight, bias, state, copy, eps, clip_value)


def state_backward(
    grad_state: torch.Tensor,
    grad_recurrent: Optional[torch.Tensor],
    projected: torch.Tensor,
    weight: Optional[torch.Tensor],
    eps: float,
    clip_value: float,
    grad_projected: torch.Tensor,
) -> None:
    recurrent = (grad_recurrent, 0 if grad_recurrent is None else len(grad_recurrent))
    rest = (projected, weight, grad_projected, eps, clip_value)
    _run("state_backward", projected, grad_state, *recurrent, *rest)
