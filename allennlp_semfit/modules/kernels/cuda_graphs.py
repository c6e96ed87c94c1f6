"""
CUDA graphs of a function and its derivative. The forward and backward pass of a small batch launch
hundreds of kernels, which takes longer on the CPU than their work on the GPU; a graph is launched
once.
"""

from math import prod
from typing import Any, Callable, Dict, Hashable, List, Optional, Sequence, Set, Tuple
from weakref import ref

import torch

# One graph per batch length. Further lengths have none: where batches have hundreds of shapes,
# capturing would take longer than the graphs save.
_MAX_GRAPHS = 32


class _Lease:
    """Keeps the tensors of a forward pass from being overwritten until its backward pass."""

    is_over = False


class _Memory:
    """
    The memory that all graphs of a cache share. The first graph is the largest: in a pool, small
    graphs fit into the memory of a large one, but a large one not into that of several small ones.
    """

    def __init__(self, size: int, stream: torch.cuda.Stream) -> None:
        self.size, self.stream = size, stream
        self.pool = torch.cuda.graph_pool_handle()
        self.grads: Optional[List[torch.Tensor]] = None
        self.lease: Callable[[], Optional[_Lease]] = lambda: None
        self._buffers: Dict[str, torch.Tensor] = {}

    def buffer(self, name: str, like: torch.Tensor) -> torch.Tensor:
        """A view, in the shape of `like`, of the buffer of that name, which all graphs share."""
        if name not in self._buffers:
            self._buffers[name] = like.new_zeros(like.numel())
        return self._buffers[name][: like.numel()].view(like.shape)


class CapturedPass:
    """
    A forward pass and its backward pass. The values of `inputs` do not matter. The second dimension
    of inputs, outputs and their gradients is the number of words.

    Given the inputs, `forward` returns the outputs and the values that `backward` needs. Given the
    outputs' gradient and these values, `backward` returns the gradient of the inputs, or `None`,
    and the gradients of the parameters.
    """

    def __init__(
        self,
        memory: _Memory,
        inputs: torch.Tensor,
        forward: Callable[[torch.Tensor], Tuple[torch.Tensor, Any]],
        backward: Callable[[torch.Tensor, Any], Sequence[Any]],
    ) -> None:
        self._memory, self._inputs = memory, memory.buffer("inputs", inputs)
        # Run once before the capture, because kernels cannot be loaded during a capture.
        outputs, saved = forward(self._inputs)
        self._outputs = memory.buffer("outputs", outputs)
        self._grad_outputs = memory.buffer("grad_outputs", outputs)
        grad_inputs, *grads = backward(self._grad_outputs, saved)
        self._grad_inputs: Optional[torch.Tensor] = None
        if grad_inputs is not None:
            self._grad_inputs = memory.buffer("grad_inputs", grad_inputs)
        memory.grads = memory.grads or grads
        del outputs, saved, grad_inputs, grads

        def run_forward() -> Any:
            outputs, saved = forward(self._inputs)
            self._outputs.copy_(outputs)
            return saved

        def run_backward() -> None:
            grad_inputs, *grads = backward(self._grad_outputs, saved)
            if self._grad_inputs is not None:
                self._grad_inputs.copy_(grad_inputs)
            if grads:
                torch._foreach_copy_(memory.grads, grads)

        saved, self._forward = _capture(run_forward, memory)
        _, self._backward = _capture(run_backward, memory)
        # The memory of `saved` and of all other intermediate values is now free for the next graph
        # with the same pool to be captured.

    def forward(self, inputs: torch.Tensor) -> Tuple[torch.Tensor, _Lease]:
        """
        Returns the outputs and the argument of `backward`. The inputs may have fewer words than the
        graph.
        """
        _copy_words(inputs, self._inputs)
        self._forward()
        lease = _Lease()
        # Without a backward pass, the lease ends when autograd frees it.
        self._memory.lease = ref(lease)
        return self._outputs[:, : inputs.size(1)].clone(), lease

    def backward(
        self, grad_outputs: torch.Tensor, lease: _Lease
    ) -> Tuple[Optional[torch.Tensor], List[torch.Tensor]]:
        """
        The gradients of the inputs and the parameters. The next pass overwrites the latter. Raises
        a `RuntimeError` if another forward pass has overwritten the tensors.
        """
        if not vars(self) or self._memory.lease() is not lease:
            raise RuntimeError(
                "The gradients have been computed once, and another forward pass has since "
                "overwritten the values for computing them again. Compute all gradients of a "
                "forward pass before the next one."
            )
        lease.is_over = True
        _copy_words(grad_outputs, self._grad_outputs)
        self._backward()
        grad_inputs = self._grad_inputs
        if grad_inputs is not None:
            grad_inputs = grad_inputs[:, : grad_outputs.size(1)].clone()
        return grad_inputs, self._memory.grads or []


class GraphCache:
    """
    The graphs of one function, for several shapes. They share their memory, so after a forward pass
    no other pass can use a graph until the backward pass.
    """

    def __init__(self) -> None:
        self._passes: Dict[Hashable, CapturedPass] = {}
        self._seen: Set[Hashable] = set()
        self._memory: Optional[_Memory] = None
        self._stream: Optional[torch.cuda.Stream] = None
        self._parameters: Hashable = None

    def get(
        self,
        parameters: Hashable,
        shape: Tuple[int, ...],
        capture: Callable[[_Memory], CapturedPass],
    ) -> Optional[CapturedPass]:
        """
        Returns the pass for a shape, which `capture` captures, or `None` if another pass is in
        progress, if there are too many, or if the shape occurs for the first time: many shapes
        occur only once. If `parameters` differ from those of the last call, all shapes are new.
        """
        if self._memory is not None:
            lease = self._memory.lease()
            if lease is not None and not lease.is_over:
                return None
        if parameters != self._parameters:
            self._clear()
            self._seen.clear()
            self._parameters = parameters
            # The parameters may be on another device.
            self._stream = None
        is_new = shape not in self._passes and len(self._passes) < _MAX_GRAPHS
        if is_new and shape in self._seen:
            size = prod(shape)
            if self._memory is None or not self._passes or size > self._memory.size:
                # A memory pool cannot be reused once all its graphs are deleted.
                self._clear()
                if self._stream is None:
                    # PyTorch keeps one cuBLAS workspace per stream. PyTorch 2.11 never frees it, so
                    # reuse the stream; PyTorch 2.15 frees it with any graph that was captured on
                    # the stream, so do not share the stream with another cache.
                    self._stream = torch.cuda.Stream()
                self._memory = _Memory(size, self._stream)
            self._passes[shape] = capture(self._memory)
        self._seen.add(shape)
        return self._passes.get(shape)

    def _clear(self) -> None:
        # A training loop keeps the last loss, whose autograd graph refers to a pass.
        for captured in self._passes.values():
            vars(captured).clear()
        self._passes.clear()
        self._memory = None


def _copy_words(words: torch.Tensor, buffer: torch.Tensor) -> None:
    buffer[:, : words.size(1)].copy_(words)
    if words.size(1) < buffer.size(1):
        buffer[:, words.size(1) :].zero_()


def _capture(function: Callable[[], Any], memory: _Memory) -> Tuple[Any, Callable[[], None]]:
    """Returns the result of `function`, and a function that recomputes it in place."""
    graph = torch.cuda.CUDAGraph()
    # Other threads may use the GPU during the capture.
    with torch.cuda.graph(graph, memory.pool, memory.stream, capture_error_mode="thread_local"):
        result = function()
    return result, graph.replay
