import logging
import os
import random
import signal
import sys

import numpy
import pytest
import torch
from allennlp.commands.train import train_model_from_file
from allennlp.common import logging as common_logging
from hypothesis import HealthCheck, settings

from allennlp_semfit import SentenceEmbedder
from allennlp_semfit.common.parallel import use_one_thread_in_forks
from tests import FIXTURES, VECTORS, processes  # noqa: F401 (what the fork server imports)

# No deadline: the first example of many tests opens a model or compiles something, and the machine
# may be busy. Each run has the same examples, so that only a change can make a test fail.
settings.register_profile(
    "semfit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("semfit")

# Some tests fork, and OpenMP's threads do not survive a fork: with several, the fork would wait
# forever.
torch.set_num_threads(1)
use_one_thread_in_forks()

# Distributed processes communicate over the loopback interface, whatever the machine's name is.
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

# A shell starts background processes with SIGINT ignored, but some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _seed_generators():
    torch.manual_seed(1)
    # AllenNLP's sampled softmax and its shuffling draw from these two.
    numpy.random.seed(1)
    random.seed(1)


@pytest.fixture(autouse=True)
def _seed():
    _seed_generators()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef):
    # Shared fixtures are created before `_seed`, and must not depend on earlier tests.
    if fixturedef.scope != "function":
        _seed_generators()


_EXCEPTHOOK = sys.excepthook
_ROOT_LEVEL = logging.root.level


@pytest.fixture(autouse=True)
def _logging():
    """Resets logging, which training, commands and `ModelTestCase` change permanently."""
    sys.excepthook = _EXCEPTHOOK
    common_logging.FILE_FRIENDLY_LOGGING = False
    logging.root.setLevel(_ROOT_LEVEL)
    of_pytest = (h for h in logging.root.handlers if type(h).__module__ == "_pytest.logging")
    logging.root.handlers[:] = of_pytest
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.disabled = False


@pytest.fixture
def fail_instead_of_hanging():
    def fail(*_):
        raise AssertionError("hangs")

    previous = signal.signal(signal.SIGALRM, fail)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture
def set_num_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def lm_archive(tmp_path_factory):
    """The archive of the fixture's language model, trained."""
    directory = tmp_path_factory.mktemp("language_model")
    train_model_from_file(FIXTURES / "language_model.jsonnet", directory, force=True)
    return str(directory / "model.tar.gz")


@pytest.fixture(scope="session")
def embedder(lm_archive):
    return SentenceEmbedder(lm_archive)
