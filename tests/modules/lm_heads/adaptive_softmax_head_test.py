import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.modules.lm_heads.adaptive_softmax_head import AdaptiveSoftmaxHead
from tests.modules.lm_heads.softmax_reference import vocabulary_of


def test_it_trains_what_it_evaluates():
    head = AdaptiveSoftmaxHead(vocabulary_of(29), 16, cutoffs=[5, 12])
    context, targets = torch.randn(50, 16), torch.randint(30, (50,))
    assert head.train()(context, targets).item() == pytest.approx(
        head.eval()(context, targets).item(), rel=1e-5
    )


@pytest.mark.parametrize("cutoffs", [[], [0], [5, 5], [12, 5], [-1, 5]])
def test_cutoffs_must_increase(cutoffs):
    with pytest.raises(ConfigurationError, match="`cutoffs` is .* increasing"):
        AdaptiveSoftmaxHead(vocabulary_of(29), 8, cutoffs=cutoffs)


def test_cutoffs_must_be_less_than_the_vocabulary_size():
    AdaptiveSoftmaxHead(vocabulary_of(29), 16, cutoffs=[5, 29])
    with pytest.raises(ConfigurationError, match=r"last of the `cutoffs` \[5, 30\].*'tokens', 30"):
        AdaptiveSoftmaxHead(vocabulary_of(29), 8, cutoffs=[5, 30])


@pytest.mark.parametrize("div_value", [0, -1.0, 3.0])
def test_a_div_value_that_reduces_the_dimension_to_zero(div_value):
    with pytest.raises(ConfigurationError, match="`div_value`.* to 0"):
        AdaptiveSoftmaxHead(vocabulary_of(29), 8, cutoffs=[5, 12], div_value=div_value)


def zipfian(num_classes, num_words):
    weights = 1 / torch.arange(1, num_classes + 1)
    return torch.multinomial(weights, num_words, replacement=True)


def train(head, targets):
    for some in targets.split(700):
        head.train()(torch.zeros(len(some), 8), some)


def test_a_vocabulary_sorted_by_frequency_is_accepted():
    train(AdaptiveSoftmaxHead(vocabulary_of(999), 8, cutoffs=[100]), zipfian(1000, 30_000))


def test_an_unsorted_vocabulary_is_refused():
    for order in (torch.arange(1000).flip(0), torch.randperm(1000)):
        head = AdaptiveSoftmaxHead(vocabulary_of(999), 8, cutoffs=[100])
        with pytest.raises(ConfigurationError, match="'tokens' is not sorted by decreasing freq"):
            train(head, order[zipfian(1000, 10_001)])
        # One that is being evaluated has nothing more to lose.
        head.eval()(torch.zeros(10_001, 8), order[zipfian(1000, 10_001)])


def test_what_is_little_text_says_nothing():
    head = AdaptiveSoftmaxHead(vocabulary_of(999), 8, cutoffs=[100])
    train(head, torch.randint(1000, (9_999,)))
