import gc

import pytest
import torch
from allennlp.common.testing import requires_gpu
from torch.utils.checkpoint import checkpoint

from allennlp_semfit.modules.kernels import cuda_graphs, projected_lstm
from allennlp_semfit.modules.kernels.cuda_graphs import CapturedPass, GraphCache
from tests.modules.kernels.common import results_of
from tests.modules.kernels.projected_lstm_test import layers_of

WEIGHT = torch.tensor(3.0)


@pytest.fixture
def cache(monkeypatch):
    """One whose graphs run on the CPU: a function that computes the same tensors in place."""

    def capture(function, pool):
        result = function()

        def replay():
            for tensors in zip(flat(result), flat(function())):
                torch.Tensor.copy_(*tensors)

        return result, replay

    def flat(result):
        return (
            [result] if isinstance(result, torch.Tensor) else [t for r in result for t in flat(r)]
        )

    monkeypatch.setattr(cuda_graphs, "_capture", capture)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    return GraphCache()


def get(cache, num_words, parameters=0):
    """The pass of `inputs -> WEIGHT * inputs ** 2`, for up to `num_words` words."""
    return cache.get(
        parameters,
        num_words,
        lambda memory: CapturedPass(
            memory,
            torch.zeros(2, num_words),
            lambda inputs: (WEIGHT * inputs**2, [inputs.clone()]),
            lambda grads, saved: [
                grads * 2 * WEIGHT * saved[0],
                (grads * saved[0] ** 2).sum().reshape(1),
            ],
        ),
    )


def captured(cache, num_words, parameters=0):
    assert get(cache, num_words, parameters) is None
    return get(cache, num_words, parameters)


def test_a_graph_gives_what_the_function_gives_for_as_many_words_or_fewer(cache):
    graph = captured(cache, 5)
    for num_words in (5, 3, 4):
        inputs = torch.randn(2, num_words)
        outputs, lease = graph.forward(inputs)
        torch.testing.assert_close(outputs, WEIGHT * inputs**2)
        grad_outputs = torch.randn(2, num_words)
        grad_inputs, (grad_weight,) = graph.backward(grad_outputs, lease)
        torch.testing.assert_close(grad_inputs, grad_outputs * 2 * WEIGHT * inputs)
        torch.testing.assert_close(grad_weight, (grad_outputs * inputs**2).sum().reshape(1))


def test_a_pass_under_way_is_not_overwritten(cache):
    graph, other = captured(cache, 5), captured(cache, 7)
    _, lease = graph.forward(torch.ones(2, 5))
    assert get(cache, 5) is None
    assert get(cache, 7) is None
    graph.backward(torch.ones(2, 5), lease)
    assert get(cache, 5) is graph
    # Until then, its gradients can be computed again.
    graph.backward(torch.ones(2, 5), lease)
    other.forward(torch.ones(2, 7))
    with pytest.raises(RuntimeError, match="another forward pass has since overwritten"):
        graph.backward(torch.ones(2, 5), lease)


def test_a_pass_ends_with_the_tensors_that_need_it(cache):
    graph = captured(cache, 5)
    outputs, lease = graph.forward(torch.ones(2, 5))
    assert get(cache, 5) is None
    del outputs, lease
    gc.collect()
    assert get(cache, 5) is graph


def test_other_parameters_have_other_graphs(cache):
    first = captured(cache, 5, parameters=1)
    assert get(cache, 5, parameters=2) not in (first, None)


def test_without_any_graph_the_memory_is_another(cache, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "_MAX_GRAPHS", 0)
    handles = iter(range(9))
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: next(handles))
    used = []
    capture = cuda_graphs._capture

    def observing(function, pool):
        used.append(pool)
        return capture(function, pool)

    monkeypatch.setattr(cuda_graphs, "_capture", observing)
    for num_words in (5, 7):
        captured(cache, num_words)
    assert used == [0, 0, 1, 1]


def test_few_graphs_are_kept(cache, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "_MAX_GRAPHS", 2)
    first, second = captured(cache, 1), captured(cache, 2)
    assert get(cache, 1) is first
    captured(cache, 3)
    assert get(cache, 1) is first
    assert get(cache, 2) is not second


@requires_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("hidden_dim", "cell_size", "batch_size"), [(24, 40, 3), (23, 37, 10)])
def test_layers_have_the_same_states_and_gradients_as_without_graphs(
    dtype, hidden_dim, cell_size, batch_size, monkeypatch
):
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
