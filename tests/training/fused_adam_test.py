import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.training.optimizers import Optimizer


def updated(kind, **options):
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(7, 13), torch.nn.Linear(13, 5))
    optimizer = Optimizer.from_params(
        Params({"type": kind, "lr": 0.1, **options}),
        model_parameters=list(module.named_parameters()),
    )
    for seed in range(3):
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
