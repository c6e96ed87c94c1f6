"""Worker processes that start fast and use little memory."""

import multiprocessing
from multiprocessing.context import ForkServerContext

__all__ = ["forkserver_context"]


def forkserver_context() -> ForkServerContext:
    """
    A fork server that has imported the benchmarks and PyTorch's optimizers, and nothing else.
    (Linux and macOS only.)
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch._dynamo", "benchmarks.heads", "benchmarks.language_models"]
    )
    return context
