import pytest
import torch
from allennlp.common.testing import requires_gpu
from torch.utils.checkpoint import checkpoint

from allennlp_semfit.modules.kernels import cuda_graphs, projected_lstm
from tests.modules.kernels.common import results_of
from tests.modules.kernels.projected_lstm_test import layers_of


@requires_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("hidden_dim", "cell_size", "batch_size"), [(24, 40, 3), (23, 37, 10), (24, 40, 300)]
)
def test_layers_have_the_same_states_and_gradients_as_without_graphs(
    dtype, hidden_dim, cell_size, batch_size, monkeypatch
):
    # The limit is one of speed: larger batches have graphs that are as right.
    monkeypatch.setattr(projected_lstm, "_MAX_GRAPH_SIZE", 300)
    layers = layers_of(2, hidden_dim, cell_size).cuda()
    batches = [
        torch.randn(2, length * batch_size, hidden_dim, device="cuda")
        for length in (6, 6, 8, 5, 6, 9)
    ]

    def read(layers, inputs):
        with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
            batch_sizes = [batch_size] * (inputs.size(1) // batch_size)
            return projected_lstm.run_in_lockstep(layers, inputs, batch_sizes)

    actual = [results_of(read, layers, inputs) for inputs in batches]
    # Of 8 steps. Those of 12 came only once.
    assert len(projected_lstm._graphs[layers[0]]._passes) == 1
    monkeypatch.setattr(projected_lstm, "_MAX_GRAPH_SIZE", 0)
    for results, inputs in zip(actual, batches):
        for ours, expected in zip(results, results_of(read, layers, inputs)):
            # Only the order of the sums in the products of all words differs.
            tolerance = 1e-5 if dtype == torch.float32 else 1e-2
            assert (ours - expected).norm() <= tolerance * expected.norm()


@requires_gpu
def test_layers_may_be_used_twice_in_a_step():
    layers = layers_of(2, 23, 37).cuda()
    inputs = torch.randn(2, 10 * 6, 23, device="cuda")

    def read(layers, inputs):
        return projected_lstm.run_in_lockstep(layers, inputs, [10] * 6)

    def twice(layers, inputs):
        return read(layers, inputs) * read(layers, 2 * inputs)

    # In the first step, a graph is captured between a forward pass and its backward pass.
    actual = [results_of(twice, layers, inputs) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(projected_lstm, "_MAX_GRAPH_SIZE", 0)
        expected = results_of(twice, layers, inputs)
    for results in actual:
        for ours, exact in zip(results, expected):
            assert (ours - exact).norm() <= 1e-5 * exact.norm()


@requires_gpu
def test_checkpointed_layers_have_the_same_states_and_gradients():
    layers = layers_of(2, 23, 37).cuda()
    inputs = torch.randn(2, 10 * 6, 23, device="cuda")

    def read(layers, inputs):
        return projected_lstm.run_in_lockstep(layers, inputs, [10] * 6)

    def read_checkpointed(layers, inputs):
        return checkpoint(read, layers, inputs, use_reentrant=False)

    # A graph is captured when a shape comes for the second time.
    for _ in range(3):
        actual = results_of(read_checkpointed, layers, inputs)
        for ours, expected in zip(actual, results_of(read, layers, inputs)):
            assert (ours - expected).norm() <= 1e-5 * expected.norm()


def test_a_checkpoint_has_no_graph():
    (layer,) = layers_of(1, 5, 7)

    def has_graph(weight):
        return [projected_lstm._graphs_of(layer, [3, 3]) is not None, weight.exp()]

    weight = torch.zeros(1, requires_grad=True)
    assert has_graph(weight)[0]
    assert not checkpoint(has_graph, weight, use_reentrant=False)[0]


def test_many_shapes_are_not_captured_again_and_again(monkeypatch):
    class Memory:
        def lease(self):
            return None

    monkeypatch.setattr(cuda_graphs, "_Memory", Memory)
    monkeypatch.setattr(cuda_graphs, "_MAX_GRAPHS", 3)
    graphs, captured = cuda_graphs.GraphCache(), []

    def capture(memory):
        captured.append(shape)
        return shape

    for _ in range(5):
        for shape in range(10):
            assert graphs.get("weights", shape, capture) in (None, shape)
    assert captured == [0, 1, 2]
    assert [graphs.get("weights", shape, None) for shape in range(4)] == [0, 1, 2, None]
