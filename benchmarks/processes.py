"""Processes for measurements: small, and quickly there."""

import multiprocessing
from multiprocessing.context import ForkServerContext

__all__ = ["process_context"]


def process_context() -> ForkServerContext:
    """
    Makes processes by forking one that has done the imports of the benchmarks, those of PyTorch's
    optimizers included, and nothing else. (Linux and macOS only.)
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch._dynamo", "benchmarks.heads", "benchmarks.language_models"]
    )
    return context
