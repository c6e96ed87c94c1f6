import logging
from functools import cache
from importlib import import_module
from math import inf
from types import ModuleType

import torch

from allennlp_semfit.common.errors import ConfigurationError

logger = logging.getLogger(__name__)

IMPLEMENTATIONS = ("auto", "torch", "native", "triton")


def select_ops(
    implementation: str, device: torch.device, dtype: torch.dtype, parameter_dtype: torch.dtype
) -> ModuleType:
    """
    Returns the module with the operations between the matrix products: `torch_ops`, which defines
    them, `native_ops` or `triton_ops`. `implementation` is one of `IMPLEMENTATIONS`, where "auto"
    selects the fastest available one, and `dtype` is the type of the matrix products.

    Raises a `ConfigurationError` if the implementation is not available for the device and types.
    """
    supported = {
        "triton": device.type == "cuda" and dtype != torch.float64,
        "native": device.type == "cpu"
        and dtype in (torch.float32, torch.bfloat16)
        and parameter_dtype == torch.float32,
        "torch": True,
    }
    for name in supported if implementation == "auto" else [implementation]:
        # PyTorch's own operations need no trial.
        if supported[name] and (name == "torch" or _runs(name, device)):
            return _ops(name)
    raise ConfigurationError(
        f'contextualizer.implementation: "{implementation}" is not available for {dtype} with '
        f'parameters of {parameter_dtype} on the device "{device}". Use "auto".'
    )


def _ops(implementation: str) -> ModuleType:
    # This import is not at the top, because Triton may be missing.
    return import_module(f"{__package__}.{implementation}_ops")


@cache
def _runs(implementation: str, device: torch.device) -> bool:
    # Launch a kernel: those of C++ may not have been built, Triton may be missing or lack a
    # compiler, or the device may be too old.
    probe = torch.zeros((1, 1) if implementation == "native" else (1, 1, 1), device=device)
    try:
        with torch.cuda.device_of(probe):
            copies = probe.clone(), probe.clone()
            _ops(implementation).state_forward(probe, None, None, 0.0, inf, *copies)
    except Exception as error:
        logger.warning(
            "The %s kernels of the contextualizer cannot run on the device %s (%s). PyTorch's "
            "operations, which are used instead by default, are slower.",
            implementation,
            device,
            error,
        )
        return False
    return True
