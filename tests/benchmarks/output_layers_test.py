import pytest
import torch

from allennlp_semfit.functional import unit_vectors
from benchmarks.heads import SpeedTableModel
from benchmarks.output_layers import (
    OUTPUT_LAYERS,
    build_output_layer,
    fixed_bytes,
    targets_for,
)

CPU = torch.device("cpu")


def test_cut_cross_entropy_is_the_softmax():
    torch.manual_seed(1)
    head = build_output_layer("cut-cross-entropy", 13, 5).double()
    context = torch.randn(7, 5, dtype=torch.double, requires_grad=True)
    classes = torch.randint(13, (7,))
    # The formula, without the minutes that compiling it takes.
    with torch.compiler.set_stance("force_eager"):
        loss = head(context, classes)
    scores = context @ head.weight.T
    expected = (scores.exp().sum(dim=1).log() - scores[range(7), classes]).sum()
    # It computes the logarithms in single precision.
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=0)
    found = torch.autograd.grad(loss, [context, head.weight])
    torch.testing.assert_close(
        found, torch.autograd.grad(expected, [context, head.weight]), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    ("layer", "num_classes", "expected"),
    [
        ("semfit", 800_000, 20),
        ("adaptive_softmax", 40_000, 106),
        ("adaptive_softmax", 800_000, 265),
        ("adaptive_softmax", 2_000_000, 420),
    ],
)
def test_the_model_has_the_parameters_of_table_5(layer, num_classes, expected):
    with torch.device("meta"):
        model = SpeedTableModel(layer, num_classes, 2048)
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    assert millions == pytest.approx(expected, rel=0.05)


def test_what_the_parameters_take():
    assert fixed_bytes("softmax", 1000, 10) == 2 * 4 * (1000 * 10 + 1000)
    # A sparse gradient is no larger than a batch.
    assert fixed_bytes("sampled_softmax, sparse", 1000, 10) == 4 * (1000 * 10 + 1000)


@pytest.mark.parametrize("layer", sorted(set(OUTPUT_LAYERS) - {"cut-cross-entropy"}))
def test_each_layer_learns_what_it_is_given(layer):
    torch.manual_seed(1)
    head = build_output_layer(layer, 20, 6)
    context = torch.randn(8, 6)
    vectors = torch.randn(20, 300)
    targets = targets_for(head, torch.arange(8), vectors, CPU)
    if layer == "semfit":
        assert torch.equal(targets, unit_vectors(vectors[:8]))
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = head(context, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-10:]) < sum(losses[:10])
