from argparse import Namespace
from weakref import ref

import pytest
import torch
from torch.utils import _pytree
from torch.utils.checkpoint import checkpoint

from allennlp_semfit.modules.kernels import cuda_graphs, projected_lstm, torch_ops
from tests.modules.kernels.common import results_of
from tests.modules.kernels.projected_lstm_test import NARROW
from tests.modules.kernels.projected_lstm_test import layers_of as large_layers_of


def layers_of(*sizes, **kwargs):
    """With larger weights, one rounding grows to the size of the states in a few steps."""
    layers = large_layers_of(*sizes, **kwargs)
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter.mul_(0.2)
    return layers


def capture_on_a_cpu(function, memory):
    """Recomputes the results in place, as a graph does."""
    result = function()

    def replay():
        for old, new in zip(_pytree.tree_leaves(result), _pytree.tree_leaves(function())):
            if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                old.copy_(new)

    return result, replay


NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="No CUDA device registered.")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])])
def device(request, monkeypatch):
    if request.param == "cuda":
        return "cuda"
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    monkeypatch.setattr(projected_lstm, "select_ops", lambda *_: torch_ops)
    monkeypatch.setattr(cuda_graphs, "_capture", capture_on_a_cpu)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.cuda, "Stream", object)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    return "cpu"


def read(layers, inputs):
    """10 sentences of 6 words."""
    return projected_lstm.run_in_lockstep(layers, inputs, [10] * 6)


def results_without_graphs(read, layers, inputs):
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(projected_lstm, "_MAX_GRAPH_SIZE", 0)
        return results_of(read, layers, inputs)


def assert_close(actual, expected, tolerance=1e-5):
    for ours, exact in zip(actual, expected):
        assert (ours - exact).norm() <= tolerance * exact.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("hidden_dim", "cell_size", "batch_size", "clips"),
    # A value whose rounding decides whether it is clipped has a gradient in only one of the two. Of
    # 300 sentences, there may be some.
    [(24, 40, 3, NARROW), (23, 37, 10, NARROW), (24, 40, 300, (3.0, 3.0))],
)
def test_layers_have_the_same_states_and_gradients_as_without_graphs(
    dtype, hidden_dim, cell_size, batch_size, clips, device, monkeypatch
):
    # The limit is only for speed: graphs of larger batches are also correct.
    monkeypatch.setattr(projected_lstm, "_MAX_GRAPH_SIZE", 300)
    layers = layers_of(2, hidden_dim, cell_size, clips=clips).to(device)
    batches = [
        torch.randn(2, length * batch_size, hidden_dim, device=device)
        for length in (6, 6, 8, 5, 6, 9, 10, 12, 7, 6, 13)
    ]

    def read_any(layers, inputs):
        with torch.autocast(device, dtype=dtype, enabled=dtype != torch.float32):
            batch_sizes = [batch_size] * (inputs.size(1) // batch_size)
            return projected_lstm.run_in_lockstep(layers, inputs, batch_sizes)

    actual = [results_of(read_any, layers, inputs) for inputs in batches]
    # Graphs of 8 and of 12 steps; 16 steps occurred only once.
    assert {steps for _, steps in projected_lstm._graphs[layers[0]]._passes} == {8, 12}
    # Only the order of the sums in the products of all words differs.
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    for results, inputs in zip(actual, batches):
        assert_close(results, results_without_graphs(read_any, layers, inputs), tolerance)


def test_layers_may_be_used_twice_in_a_step(device):
    layers = layers_of(2, 23, 37).to(device)
    inputs = torch.randn(2, 10 * 6, 23, device=device)

    def twice(layers, inputs):
        return read(layers, inputs) * read(layers, 2 * inputs)

    # In the first step, a graph is captured between a forward pass and its backward pass.
    actual = [results_of(twice, layers, inputs) for _ in range(3)]
    expected = results_without_graphs(twice, layers, inputs)
    for results in actual:
        assert_close(results, expected)


def test_a_graph_reads_the_weights_of_each_step(device):
    layers = layers_of(2, 23, 37).to(device)
    inputs = torch.randn(2, 10 * 6, 23, device=device)

    for _ in range(3):
        before = results_of(read, layers, inputs)
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter.mul_(0.9)
    actual = results_of(read, layers, inputs)
    assert (actual[0] - before[0]).norm() > 0.01 * before[0].norm()
    assert_close(actual, results_without_graphs(read, layers, inputs))


def test_gradients_cannot_be_computed_again_after_another_pass(device):
    layers = layers_of(2, 23, 37).to(device)
    inputs = torch.randn(2, 10 * 6, 23, device=device)
    for _ in range(3):
        states = read(layers, inputs).sum()
        states.backward(retain_graph=True)
    read(layers, inputs)
    with pytest.raises(RuntimeError, match="another forward pass has since"):
        states.backward()


def test_checkpointed_layers_have_the_same_states_and_gradients(device):
    layers = layers_of(2, 23, 37).to(device)
    inputs = torch.randn(2, 10 * 6, 23, device=device)

    def read_checkpointed(layers, inputs):
        return checkpoint(read, layers, inputs, use_reentrant=False)

    # A graph is captured when a shape comes for the second time.
    for _ in range(3):
        actual = results_of(read_checkpointed, layers, inputs)
        assert_close(actual, results_of(read, layers, inputs))


def test_many_shapes_are_not_captured_again_and_again(device, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "_MAX_GRAPHS", 3)
    graphs, captured = cuda_graphs.GraphCache(), []

    def capture(memory):
        captured.append(shape)
        return Namespace()

    shapes = [(8, 5), (8, 3), (8, 9), (8, 4), (8, 2)]
    for _ in range(5):
        for shape in shapes:
            graphs.get("weights", shape, capture)
    # The memory of smaller graphs has no room for a larger one, so they are captured again.
    assert captured == [(8, 5), (8, 3), (8, 9), (8, 4), (8, 2)]


def test_a_longer_batch_frees_the_memory_of_shorter_ones_before_it_is_captured(device, monkeypatch):
    layers = layers_of(2, 5, 7).to(device)
    capture, memories, alive = cuda_graphs._capture, [], []

    def observe(function, memory):
        alive.append(any(each() not in (None, memory) for each in memories))
        memories.append(ref(memory))
        return capture(function, memory)

    monkeypatch.setattr(cuda_graphs, "_capture", observe)
    losses = []
    for length in (4, 4, 8, 8):
        inputs = torch.randn(2, 3 * length, 5, device=device)
        losses.append(projected_lstm.run_in_lockstep(layers, inputs, [3] * length).sum())
        losses[-1].backward(retain_graph=True)
    assert alive == [False] * 4
    with pytest.raises(RuntimeError, match="another forward pass has since"):
        losses[1].backward()


def test_a_cache_captures_on_one_stream_and_no_other_cache_does(device, monkeypatch):
    streams = []
    capture = cuda_graphs._capture

    def observe(function, memory):
        streams.append(memory.stream)
        return capture(function, memory)

    monkeypatch.setattr(cuda_graphs, "_capture", observe)
    layers, others = layers_of(2, 5, 7).to(device), layers_of(2, 5, 7).to(device)
    for length in (4, 4, 8, 8):
        for each in (layers, others):
            inputs = torch.randn(2, 3 * length, 5, device=device)
            projected_lstm.run_in_lockstep(each, inputs, [3] * length).sum().backward()
    # A forward and a backward pass of each, of each length.
    assert [streams.index(stream) for stream in streams] == [0, 0, 2, 2] * 2


def test_weights_that_move_in_each_step_are_not_captured(device):
    layers = layers_of(2, 5, 7).to(device)
    kept = []
    for _ in range(6):
        for parameter in layers.parameters():
            kept.append(parameter.data)
            parameter.data = parameter.data.clone()
        projected_lstm.run_in_lockstep(layers, torch.randn(2, 12, 5, device=device), [3] * 4)
    assert not projected_lstm._graphs[layers[0]]._passes
