import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_semfit.modules.lm_heads.softmax_heads import AdaptiveSoftmaxHead
from tests.modules.lm_heads.vocabularies import vocabulary_of


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoffs": [5, 30]}, r"`cutoffs` is \[5, 30\], .*'tokens' has 30 words"),
        ({"cutoffs": []}, r"`cutoffs` is \[\], "),
        ({"cutoffs": [12, 5], "div_value": 2.0}, r"`cutoffs` is \[12, 5\], .*increasing"),
        ({"cutoffs": [0, 5], "div_value": 2.0}, r"`cutoffs` is \[0, 5\], .*positive"),
    ],
)
def test_wrong_clusters(options, message):
    with pytest.raises(ConfigurationError, match=message):
        AdaptiveSoftmaxHead(vocabulary_of(29), 8, **options)
