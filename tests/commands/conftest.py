import pytest
from allennlp.common import logging as common_logging


@pytest.fixture(autouse=True)
def file_friendly_logging(monkeypatch):
    """Restores what a command sets."""
    monkeypatch.setattr(common_logging, "FILE_FRIENDLY_LOGGING", False)
