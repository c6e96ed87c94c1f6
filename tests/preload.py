"""What the server process of `tests.processes` imports."""

import allennlp.commands  # noqa: F401
import allennlp_models.rc  # noqa: F401
import torch
from allennlp.common.plugins import import_plugins

import allennlp_semfit  # noqa: F401

# Threads do not survive a fork.
torch.set_num_threads(1)
import_plugins()
