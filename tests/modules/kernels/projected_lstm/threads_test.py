import os
import threading

import pytest
import torch

from allennlp_semfit.modules.kernels.projected_lstm.layer import ProjectedLstm, run_in_lockstep
from allennlp_semfit.modules.kernels.projected_lstm.threads import run_in_threads
from tests.tolerance import assert_same_but_for_rounding


@pytest.fixture
def set_num_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize(("num_threads", "share"), [(2, 1), (5, 2)])
def test_each_item_has_a_thread_and_its_share(set_num_threads, num_threads, share):
    set_num_threads(num_threads)
    met = threading.Barrier(2, timeout=60)

    def observe(item):
        met.wait()
        assert not torch.is_grad_enabled()
        return item, torch.get_num_threads(), threading.get_ident()

    one, other = run_in_threads(observe, ["one", "other"])
    assert one[:2] == ("one", share)
    assert other[:2] == ("other", share)
    assert one[2] != other[2]
    assert torch.get_num_threads() == num_threads


def test_inference_mode_reaches_the_threads(set_num_threads):
    set_num_threads(2)
    layers = [ProjectedLstm(17, 33, True, 3.0, 3.0) for _ in range(2)]
    inputs = torch.randn(2, 9, 17)
    expected = run_in_lockstep(layers, inputs, [4, 3, 2])
    with torch.inference_mode():
        assert_same_but_for_rounding(run_in_lockstep(layers, inputs, [4, 3, 2]), expected)
    with torch.no_grad():
        assert not run_in_lockstep(layers, inputs, [4, 3, 2]).is_inference()


def test_with_one_thread_all_run_in_the_caller():
    assert torch.get_num_threads() == 1
    idents = run_in_threads(lambda _: threading.get_ident(), range(2))
    assert idents == [threading.get_ident()] * 2


def test_an_error_reaches_the_caller(set_num_threads):
    set_num_threads(2)

    def fail(item):
        raise ValueError(item)

    with pytest.raises(ValueError, match="one"):
        run_in_threads(fail, ["one", "other"])


def test_a_forked_process_has_threads_of_its_own(set_num_threads):
    set_num_threads(2)
    assert run_in_threads(str, [1, 2]) == ["1", "2"]
    child = os.fork()
    if child == 0:
        torch.set_num_threads(2)
        os._exit(run_in_threads(str, [1, 2]) != ["1", "2"])
    assert os.waitpid(child, 0)[1] == 0


def test_a_layer_has_the_same_states_and_gradients_with_several_threads(set_num_threads):
    layers = [ProjectedLstm(17, 33, True, 3.0, 3.0) for _ in range(2)]
    inputs = torch.randn(2, 9, 17)
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    results = []
    for num_threads in (1, 2):
        set_num_threads(num_threads)
        states = run_in_lockstep(layers, inputs, [4, 3, 2])
        results.append([states, *torch.autograd.grad(states.square().sum(), parameters)])
    for one, two in zip(*results):
        assert_same_but_for_rounding(one, two)
