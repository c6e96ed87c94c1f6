"""The trainable parameters that the paper's tables report, counted on the meta device."""

import pytest
import torch

from allennlp_semfit.modules.lm_heads.adaptive_softmax_head import AdaptiveSoftmaxHead
from allennlp_semfit.modules.lm_heads.semfit_head import SemfitHead
from tests.modules.lm_heads.softmax_reference import vocabulary_of


def millions(*modules):
    parameters = [parameter for module in modules for parameter in module.parameters()]
    return sum(parameter.numel() for parameter in parameters if parameter.requires_grad) / 1e6


@pytest.fixture(scope="module")
def lstm():
    """The contextualizer of Table 5: one direction, 2,048 units, over vectors of 300 dimensions."""
    with torch.device("meta"):
        return torch.nn.LSTM(300, 2048)


def test_table_5_semfit(lstm):
    with torch.device("meta"):
        head = SemfitHead(2048, 300)
    assert millions(lstm, head) == pytest.approx(20, rel=0.05)


# The paper does not give its cutoffs. "The hyper-parameters are the same" for 800K and for 2000K
# words, and each of the words between costs 129 parameters: the vectors of the last cluster have
# 128 = 2048 / 4² dimensions. A full softmax over 40K words would have 101 million with the LSTM:
# clusters of shorter vectors cannot come to 106, but one of vectors as long as the others can.
@pytest.mark.parametrize(
    ("num_words", "cutoffs", "div_value", "expected"),
    [
        (40_000, [4_000], 1.0, 106),
        (800_000, [40_000, 200_000], 4.0, 265),
        (2_000_000, [40_000, 200_000], 4.0, 420),
    ],
)
def test_table_5_adaptive_softmax(lstm, num_words, cutoffs, div_value, expected):
    vocab = vocabulary_of(num_words - 1)
    with torch.device("meta"):
        head = AdaptiveSoftmaxHead(vocab, 2048, cutoffs, div_value)
    assert millions(lstm, head) == pytest.approx(expected, rel=0.05)
