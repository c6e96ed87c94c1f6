import logging
from functools import cache
from importlib import import_module
from math import inf
from types import ModuleType

import torch

from allennlp_semfit.common.errors import ConfigurationError, check_choice
from allennlp_semfit.modules.kernels.native_ops import load_error, native_kernels

logger = logging.getLogger(__name__)

IMPLEMENTATIONS = ("auto", "torch", "native", "triton")


def check_implementation(implementation: str) -> None:
    """
    # Raises

    `ConfigurationError`
        If `implementation` is none of `IMPLEMENTATIONS` or is not available here.
    """
    check_choice("contextualizer.implementation", implementation, IMPLEMENTATIONS)
    if implementation == "native" and native_kernels is None:
        raise ConfigurationError(
            "contextualizer.implementation: 'native', but the kernels were not built when this "
            "package was installed. Install a C++ compiler and reinstall it, or use 'auto'."
        )
    if implementation == "triton":
        try:
            import triton  # noqa: F401
        except ImportError as error:
            raise ConfigurationError(
                "contextualizer.implementation: 'triton', but Triton is not installed. Install it, "
                "or use 'auto'."
            ) from error


def select_ops(
    implementation: str, device: torch.device, dtype: torch.dtype, parameter_dtype: torch.dtype
) -> ModuleType:
    """
    Returns the module with the operations between the matrix products: `torch_ops`, which defines
    them, `native_ops` or `triton_ops`.

    # Parameters

    implementation : `str`
        One of `IMPLEMENTATIONS`. "auto" selects the fastest available one.
    device : `torch.device`
    dtype : `torch.dtype`
        The type of the matrix products.
    parameter_dtype : `torch.dtype`
        The type of the parameters.

    # Raises

    `ConfigurationError`
        If the implementation does not support the device or the type.
    """
    has_native = (
        device.type == "cpu"
        and dtype in (torch.float32, torch.bfloat16)
        and parameter_dtype == torch.float32
    )
    has_triton = device.type == "cuda" and dtype != torch.float64
    if implementation == "auto":
        if has_triton and _triton_runs(device):
            implementation = "triton"
        else:
            implementation = "native" if has_native and _native_is_built() else "torch"
    elif not {"torch": True, "native": has_native, "triton": has_triton}[implementation]:
        raise ConfigurationError(
            f'`implementation` is "{implementation}", which does not support {dtype} with '
            f'parameters of {parameter_dtype} on the device "{device}". Use "auto".'
        )
    # This import is not at the top, because Triton may be missing.
    return import_module(f"{__package__}.{implementation}_ops")


@cache
def _native_is_built() -> bool:
    if native_kernels is None:
        logger.warning(
            "The CPU kernels were not built when this package was installed, for example because "
            "there was no C++ compiler (%s). The contextualizer uses PyTorch's operations instead, "
            "which are slower.",
            load_error,
        )
    return native_kernels is not None


@cache
def _triton_runs(device: torch.device) -> bool:
    # Launch a kernel: Triton may be missing or lack a compiler, or the device may be too old.
    try:
        import triton  # noqa: F401

        from allennlp_semfit.modules.kernels import triton_ops

        probe = torch.zeros(1, 1, 1, device=device)
        with torch.cuda.device_of(probe):
            triton_ops.state_forward(probe, None, None, 0.0, inf, probe.clone(), probe.clone())
    except Exception as error:
        logger.warning(
            "Triton cannot run the contextualizer's kernels on %s (%s). It uses PyTorch's "
            "operations instead, which are slower.",
            device,
            error,
        )
        return False
    return True
