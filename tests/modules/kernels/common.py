"""What tests of the CPU and GPU kernels share."""

import copy

import pytest
import torch

from allennlp_semfit.modules.kernels import projected_lstm

# What each implementation supports. Triton's interpreter, which runs where there is no GPU,
# truncates to bfloat16 where a GPU rounds.
SUPPORTED = [
    *(("torch", dtype) for dtype in (torch.float32, torch.bfloat16, torch.float16)),
    *(("native", dtype) for dtype in (torch.float32, torch.bfloat16)),
    *(("triton", dtype) for dtype in (torch.float32, torch.float16)),
    *([("triton", torch.bfloat16)] if torch.cuda.is_available() else []),
]


def device_for(implementation, monkeypatch):
    """Where it runs. Triton's interpreter takes tensors of the CPU as if they were on a GPU."""
    if implementation == "triton":
        pytest.importorskip("triton")
    if implementation != "native" and torch.cuda.is_available():
        return "cuda"
    if implementation == "triton":
        from allennlp_semfit.modules.kernels import triton_ops

        monkeypatch.setattr(torch.Tensor, "is_cuda", True)
        monkeypatch.setattr(projected_lstm, "select_ops", lambda *_: triton_ops)
        monkeypatch.setattr(projected_lstm, "_MAX_GRAPH_SIZE", 0)
    return "cpu"


def randomise(module):
    """The module with other parameters than at first, when some have no effect."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module


def batch_sizes_of(lengths):
    """For each step, how many sentences are so long. The lengths descend."""
    return [sum(length > step for length in lengths) for step in range(max(lengths, default=0))]


def by_sentence(read, layer, words, lengths):
    """What `read` makes of each sentence of `words`, which are laid out step by step."""
    sizes = batch_sizes_of(lengths)
    outputs = torch.zeros_like(words)
    for sentence, length in enumerate(lengths):
        rows = [sum(sizes[:step]) + sentence for step in range(length)]
        states = read(layer, words[rows])
        outputs = outputs.index_copy(
            0, torch.tensor(rows, device=words.device), states.to(outputs.dtype)
        )
    return outputs


def results_of(read, module, inputs):
    """The outputs of `read`, and the gradients of everything."""
    inputs = inputs.detach().requires_grad_()
    outputs = read(module, inputs)
    weights = torch.arange(outputs.numel(), device=outputs.device).sin().view_as(outputs)
    gradients = torch.autograd.grad((outputs * weights).sum(), [inputs, *module.parameters()])
    return [outputs, *gradients]


def check_errors(read, read_plainly, module, inputs, dtype, outputs_only=False):
    """The errors against float64 are at most twice those of the plain path."""
    truth = results_of(read_plainly, copy.deepcopy(module).double(), inputs.double())
    with torch.autocast(inputs.device.type, dtype=dtype, enabled=dtype != torch.float32):
        errors, plain_errors = (
            [
                float((actual.double() - exact).norm() / exact.norm())
                for actual, exact in zip(results_of(way, module, inputs), truth)
            ][: 1 if outputs_only else None]
            for way in (read, read_plainly)
        )
    for error, plain_error in zip(errors, plain_errors):
        assert error <= 2 * plain_error + 2e-6
    assert max(plain_errors) < (1e-5 if dtype == torch.float32 else 0.1)
