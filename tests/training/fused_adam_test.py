import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.training.optimizers import Optimizer


def updated(kind, *, state=None, num_steps=3, **options):
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(7, 13), torch.nn.Linear(13, 5))
    optimizer = Optimizer.from_params(
        Params({"type": kind, "lr": 0.1, **options}),
        model_parameters=list(module.named_parameters()),
    )
    if state is not None:
        module.load_state_dict(state[0])
        # It keeps the tensors and changes them.
        optimizer.load_state_dict(copy.deepcopy(state[1]))
    for seed in range(num_steps):
        torch.manual_seed(seed)
        optimizer.zero_grad()
        module(torch.randn(3, 7)).square().mean().backward()
        optimizer.step()
    return module, optimizer


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"betas": [0.5, 0.9], "eps": 1e-3, "weight_decay": 0.1},
        {"amsgrad": True},
        {"parameter_groups": [[["0\\.bias"], {"lr": 0.5}]]},
    ],
)
def test_it_updates_as_adam(options):
    fused, optimizer = updated("fused_adam", **copy.deepcopy(options))
    assert all(group["fused"] for group in optimizer.param_groups)
    plain, _ = updated("adam", **options)
    assert len(optimizer.param_groups) == (2 if "parameter_groups" in options else 1)
    for parameter, expected in zip(fused.parameters(), plain.parameters()):
        torch.testing.assert_close(parameter, expected)


def test_it_resumes():
    module, optimizer = updated("fused_adam", num_steps=3)
    state = (module.state_dict(), optimizer.state_dict())
    # The same three batches again.
    resumed, fused = updated("fused_adam", state=state)
    assert fused.param_groups[0]["fused"]
    again, _ = updated("adam", state=state)
    for parameter, same in zip(resumed.parameters(), again.parameters()):
        torch.testing.assert_close(parameter, same)
