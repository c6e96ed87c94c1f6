"""Triton, or where it is not installed, what the definitions of its kernels name."""

from types import SimpleNamespace

__all__ = ["tl", "triton"]

try:
    import triton
    import triton.language as tl
except ImportError:
    # `--include-package` imports the kernels all the same.
    triton = tl = SimpleNamespace(jit=lambda function: function, constexpr=None)
