from functools import wraps
from typing import Any, Callable, Type

import torch


def product_dtype(inputs: torch.Tensor) -> torch.dtype:
    """The type of the products of `inputs`, which `torch.autocast` changes."""
    # A product of empty matrices, because autocast's own functions differ by device and version.
    return (inputs.new_empty(1, 0) @ inputs.new_empty(0, 1)).dtype


def apply_eagerly(function: Type[torch.autograd.Function]) -> Callable[..., torch.Tensor]:
    """
    Its `apply`, which `torch.compile` calls as it is. In a graph, the tensors that such a function
    overwrites would have other values in the backward pass.
    """

    def apply(*args: Any) -> torch.Tensor:
        # Importing the compiler takes seconds.
        if torch.compiler.is_compiling():
            return torch.compiler.disable(function.apply)(*args)
        return function.apply(*args)

    return apply


def differentiable_once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """
    A decorator for the `backward` of an autograd function, which then raises a `RuntimeError` when
    it is to be differentiated in turn: under `create_graph=True`. PyTorch's `once_differentiable`
    raises an error only if the incoming gradient requires a gradient, and otherwise takes the
    derivative for a constant.
    """

    @wraps(backward)
    def wrapped(*args: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "The derivatives of the contextualizers and heads of allennlp_semfit cannot be "
                "differentiated again, as gradient penalties and second derivatives require. Call "
                "autograd without `create_graph=True`."
            )
        return backward(*args)

    return wrapped
