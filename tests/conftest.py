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

# The first example of many a test opens a model, or compiles something; and a machine may be busy.
# The same examples in each run, so that a change is not blamed for what it did not break.
settings.register_profile(
    "semfit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("semfit")

# Some tests fork, and a fork of a process with OpenMP's threads waits for ever. A fork has the pool
# of threads made anew where their number is next set: here, before two of them do so at once.
torch.set_num_threads(1)
use_one_thread_in_forks()

# Processes that train together talk over the loopback interface, whatever the machine is called.
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

# What a shell starts in the background ignores Ctrl-C, and some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _seed_generators():
    torch.manual_seed(1)
    # Of these AllenNLP's sampled softmax and its shuffling take.
    numpy.random.seed(1)
    random.seed(1)


@pytest.fixture(autouse=True)
def _seed():
    _seed_generators()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef):
    # What tests share is made before `_seed`, and must not depend on the tests before.
    if fixturedef.scope != "function":
        _seed_generators()


_EXCEPTHOOK = sys.excepthook
_ROOT_LEVEL = logging.root.level


@pytest.fixture(autouse=True)
def _logging():
    """As in a new process: training, commands and `ModelTestCase` change it for good."""
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
