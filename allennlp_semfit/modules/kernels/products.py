from functools import cache, wraps
from typing import Any, Callable, Optional, Tuple, Type

import torch

from allennlp_semfit.common.cpu import has_instructions, is_intel

__all__ = [
    "Linear",
    "Product",
    "apply_eagerly",
    "differentiable_once",
    "linear",
    "product_dtype",
    "select_product",
]

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def select_product(device: torch.device, dtype: torch.dtype) -> Product:
    """
    The fastest function that multiplies two matrices, without gradients. It is `torch.mm`, except
    in `float32` on CPUs with AVX-512 that are not Intel's: there, `torch.mm` calls Intel's MKL,
    which does not use their AVX-512, and oneDNN is about twice as fast.
    """
    if device.type == "cpu" and dtype == torch.float32 and _prefers_onednn():
        return _multiply_with_onednn
    return torch.mm


def product_dtype(inputs: torch.Tensor) -> torch.dtype:
    """The type of the products of `inputs`, which `torch.autocast` changes."""
    # A product of empty matrices, because autocast's own functions differ by device and version.
    return (inputs.new_empty(1, 0) @ inputs.new_empty(0, 1)).dtype


def apply_eagerly(function: Type[torch.autograd.Function]) -> Callable[..., torch.Tensor]:
    """
    Its `apply`, which `torch.compile` calls as it is. In a graph, the tensors that such a function
    overwrites would have other values in the backward pass.
    """
    return torch.compiler.disable(function.apply)


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


class Linear(torch.nn.Linear):
    """`torch.nn.Linear`, with the fastest product for inputs of shape `(words, in_features)`."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return linear(inputs, self.weight, self.bias)


def linear(
    inputs: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """`torch.nn.functional.linear`, with the fastest product for inputs of shape `(words, …)`."""
    multiply: Product = torch.mm
    if inputs.device.type == "cpu" and inputs.dim() == 2 and inputs.dtype == weight.dtype:
        multiply = select_product(inputs.device, product_dtype(inputs))
    # PyTorch's error for a wrong size is clearer.
    if multiply is torch.mm or inputs.size(1) != weight.size(1):
        return torch.nn.functional.linear(inputs, weight, bias)
    return _multiply_linearly(inputs, weight, bias, multiply)


class _LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        weight: torch.Tensor,
        bias: Optional[torch.Tensor],
        multiply: Product,
    ) -> torch.Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.multiply = multiply
        outputs = multiply(inputs, weight.mT)
        return outputs if bias is None else outputs.add_(bias)

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        inputs, weight = ctx.saved_tensors
        needs_inputs, needs_weight, needs_bias, _ = ctx.needs_input_grad
        return (
            ctx.multiply(grad_outputs, weight) if needs_inputs else None,
            ctx.multiply(grad_outputs.mT, inputs) if needs_weight else None,
            grad_outputs.sum(0) if needs_bias else None,
            None,
        )


_multiply_linearly = apply_eagerly(_LinearFunction)


@cache
def _prefers_onednn() -> bool:
    # `torch.compile` uses this function, too, but PyTorch does not document it.
    has_function = hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return has_function and has_instructions("avx512f") and not is_intel()


def _multiply_with_onednn(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    if not left.numel() or not right.numel():
        return torch.mm(left, right)
    if left.stride(0) == 1 < left.stride(1):
        # The product of the transposed matrices is faster.
        return _linear(right.mT, left).mT.contiguous()
    return _linear(left, right.mT)


def _linear(inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, None, "none", [], "")
    return product
