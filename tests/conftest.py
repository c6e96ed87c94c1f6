import pytest
import torch
from hypothesis import settings

import allennlp_semfit  # noqa: F401 (registers what configs name)

# The first example of many a test opens a model, or compiles something.
settings.register_profile("semfit", deadline=None)
settings.load_profile("semfit")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(1)
