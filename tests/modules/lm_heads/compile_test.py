"""Heads compiled by `torch.compile`."""

import copy

import numpy
import pytest
import torch
from allennlp.common import Params

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from tests.modules.lm_heads.softmax_reference import vocabulary_of

VECTORS = {"input_dim": 6, "embedding_dim": 5}
HEADS = [
    {"type": "semfit", **VECTORS},
    {"type": "semfit", **VECTORS, "distance": "l2"},
    {"type": "semfit", **VECTORS, "distance": "nllvmf", "whiten_targets": True},
    {"type": "contrastive", **VECTORS, "center_targets": True},
    {"type": "softmax", "input_dim": 6},
    {"type": "adaptive_softmax", "input_dim": 6, "cutoffs": [10, 30], "div_value": 2.0},
    {"type": "sampled_softmax", "input_dim": 6, "num_samples": 8},
]


@pytest.mark.parametrize("config", HEADS, ids=lambda config: "-".join(map(str, config.values())))
def test_compiled_it_has_the_same_loss_and_gradients(config):
    head = LmHead.from_params(Params(copy.deepcopy(config)), vocab=vocabulary_of(49)).train()
    words = torch.randint(2, 51, (4, 50))
    source, vectors = {"tokens": {"tokens": words}}, torch.randn(51, 5)[words]
    targets = head.prepare_targets(source, vectors)[words > 0]
    context = torch.randn(200, 6, requires_grad=True)
    # A first call sets the bias of some heads.
    head(context, targets)
    leaves = [context, *head.parameters()]
    torch.compiler.reset()
    outcomes = []
    for function in (head, torch.compile(head, backend="eager")):
        torch.manual_seed(2)
        numpy.random.seed(2)
        loss = function(context, targets)
        outcomes.append([loss, *torch.autograd.grad(loss, leaves)])
    plain, compiled = outcomes
    torch.testing.assert_close(compiled, plain)
