"""
CUDA graphs of a function and its derivative. A small batch takes less time on a GPU than the
hundreds of launches of its forward and backward pass take on the CPU; a graph is one launch.
"""

from collections import OrderedDict
from typing import Any, Callable, Hashable, List, Optional, Sequence, Tuple
from weakref import ref

import torch

__all__ = ["CapturedPass", "GraphCache"]

# For each length of the batches of a training, one.
_MAX_GRAPHS = 32


class _Lease:
    """Keeps the tensors of a forward pass from being overwritten until its backward pass."""

    is_over = False


class CapturedPass:
    """
    A forward pass and its backward pass in the memory of a `GraphCache`.

    # Parameters

    cache : `GraphCache`
    inputs : `torch.Tensor`
        Zeros. They and their gradients have any number of dimensions, of which the second is that
        of the words.
    forward : `Callable[[torch.Tensor], Tuple[torch.Tensor, Any]]`
        Given the inputs, returns the outputs and what `backward` needs of it.
    backward : `Callable[[torch.Tensor, Any], Sequence[Any]]`
        Given the outputs' gradient and what `forward` returned, returns the gradient of the inputs,
        or `None`, and those of the parameters.
    """

    def __init__(
        self,
        cache: "GraphCache",
        inputs: torch.Tensor,
        forward: Callable[[torch.Tensor], Tuple[torch.Tensor, Any]],
        backward: Callable[[torch.Tensor, Any], Sequence[Any]],
    ) -> None:
        def run_backward() -> Any:
            grad_inputs, *grads = backward(self._grad_outputs, saved)
            # All graphs have these in common.
            if cache.grads is None:
                cache.grads = grads
            elif grads:
                torch._foreach_copy_(cache.grads, grads)
            return grad_inputs

        self._cache, self._inputs = cache, inputs
        (self._outputs, saved), self._forward = _capture(lambda: forward(inputs), cache.pool)
        self._grad_outputs = torch.zeros_like(self._outputs)
        self._grad_inputs, self._backward = _capture(run_backward, cache.pool)
        # The memory of `saved` and of all other intermediate values is now free for the next graph
        # of the cache to be captured.

    def forward(self, inputs: torch.Tensor) -> Tuple[torch.Tensor, _Lease]:
        """The outputs, and what `backward` takes. There may be fewer words than in the graph."""
        _copy_words(inputs, self._inputs)
        self._forward()
        return self._outputs[:, : inputs.size(1)].clone(), self._cache.new_lease()

    def backward(
        self, grad_outputs: torch.Tensor, lease: _Lease
    ) -> Tuple[Optional[torch.Tensor], List[torch.Tensor]]:
        """The gradients of the inputs and the parameters. The next pass overwrites the latter."""
        self._cache.end_lease(lease)
        _copy_words(grad_outputs, self._grad_outputs)
        self._backward()
        grad_inputs = self._grad_inputs
        if grad_inputs is not None:
            grad_inputs = grad_inputs[:, : grad_outputs.size(1)].clone()
        return grad_inputs, self._cache.grads or []


class GraphCache:
    """
    The graphs of one function, for several shapes. They share their memory, so there is one forward
    pass at a time, until its backward pass.
    """

    def __init__(self) -> None:
        self.pool: Any = None
        self.grads: Optional[List[torch.Tensor]] = None
        self._passes: OrderedDict[Hashable, Optional[CapturedPass]] = OrderedDict()
        self._parameters: Hashable = None
        self._lease: Callable[[], Optional[_Lease]] = lambda: None

    def get(
        self, parameters: Hashable, shape: Hashable, capture: Callable[[], CapturedPass]
    ) -> Optional[CapturedPass]:
        """
        The pass for a shape, or `None` if another pass is under way or the shape is new: many
        occur only once.

        # Parameters

        parameters : `Hashable`
            If these differ from those of the last call, all graphs are captured again.
        shape : `Hashable`
        capture : `Callable[[], CapturedPass]`
            Captures the pass.
        """
        lease = self._lease()
        if lease is not None and not lease.is_over:
            return None
        if parameters != self._parameters:
            self._passes.clear()
            # That of destroyed graphs cannot be used again.
            self.pool = torch.cuda.graph_pool_handle()
            self._parameters, self.grads = parameters, None
        if shape not in self._passes:
            self._passes[shape] = None
            if len(self._passes) > _MAX_GRAPHS:
                self._passes.popitem(last=False)
            return None
        self._passes.move_to_end(shape)
        captured = self._passes[shape]
        if captured is None:
            captured = self._passes[shape] = capture()
        return captured

    def new_lease(self) -> _Lease:
        lease = _Lease()
        # A forward pass without a backward pass ends with the tensors that need it.
        self._lease = ref(lease)
        return lease

    def end_lease(self, lease: _Lease) -> None:
        """
        # Raises

        `RuntimeError`
            If another forward pass has overwritten the tensors.
        """
        if self._lease() is not lease:
            raise RuntimeError(
                "The gradients were computed once already, and another forward pass has since "
                "overwritten what computing them again needs. Compute them before it."
            )
        lease.is_over = True


def _copy_words(words: torch.Tensor, buffer: torch.Tensor) -> None:
    buffer[:, : words.size(1)].copy_(words)
    if words.size(1) < buffer.size(1):
        buffer[:, words.size(1) :].zero_()


def _capture(function: Callable[[], Any], pool: Any) -> Tuple[Any, Callable[[], None]]:
    """What `function` returns, and a function that computes it again, in place."""
    # `torch.cuda.graph` would also return all unused memory to the device, for each graph.
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # Other threads may copy batches.
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            result = function()
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return result, graph.replay
