import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params

from allennlp_semfit.functional import nllvmf_distance
from allennlp_semfit.modules.lm_heads.distances import Distance


def test_configuration():
    vmf = Distance.from_params(Params({"type": "nllvmf", "lambda_1": 0.5, "lambda_2": 2.0}))
    predicted, targets = torch.randn(3, 10), torch.randn(3, 10)
    expected = nllvmf_distance(predicted, targets, 0.5, 2.0)
    assert torch.equal(vmf(predicted, targets), expected)
    with pytest.raises(ConfigurationError, match="lambda_2 must be at least 0, got -1"):
        Distance.from_params(Params({"type": "nllvmf", "lambda_2": -1}))
    with pytest.raises(ConfigurationError, match="manhattan.*cosine.*l2.*nllvmf"):
        Distance.from_params(Params({"type": "manhattan"}))
