"""
All that the plugin changes in AllenNLP: four changes, so that version 2.10.1, its last one, runs
with current versions of PyTorch, Python and Transformers. Everything else is a component that a
config names.
"""

import functools
from typing import Any, Callable
from unittest import mock

import torch
from allennlp.common import cached_transformers
from allennlp.data.data_loaders import MultiProcessDataLoader, multiprocess_data_loader
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)


def apply_patches() -> None:
    """Replaces the functions. `allennlp_semfit` calls it on import."""
    _wrap(ReduceOnPlateauLearningRateScheduler, "__init__", _init_reduce_on_plateau)
    _wrap(Checkpointer, "load_checkpoint", _load_checkpoint)
    for name in ("_start_batch_workers", "_start_instance_workers"):
        _wrap(MultiProcessDataLoader, name, _start_workers)
    _wrap(cached_transformers, "get_tokenizer", _get_tokenizer)


def _wrap(owner: Any, name: str, replacement: Callable) -> None:
    original = getattr(owner, name)

    # Keep the signature: AllenNLP derives the parameters of a config from it.
    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return replacement(original, *args, **kwargs)

    setattr(owner, name, wrapped)


def _init_reduce_on_plateau(
    init: Callable,
    self: ReduceOnPlateauLearningRateScheduler,
    optimizer: torch.optim.Optimizer,
    *,
    verbose: bool = False,
    **kwargs: Any,
) -> None:
    # AllenNLP passes `verbose`, a parameter that PyTorch has removed.
    scheduler: Any = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **kwargs)
    self.lr_scheduler = scheduler


def _load_checkpoint(load: Callable, self: Checkpointer) -> Any:
    # By default, `torch.load` accepts only tensors and a few plain types, but schedulers, metrics
    # and callbacks store other types.
    with mock.patch.object(torch, "load", functools.partial(torch.load, weights_only=False)):
        return load(self)


def _start_workers(start: Callable, self: MultiProcessDataLoader, queue: Any, context: Any) -> Any:
    # AllenNLP creates the lock in the default context. Recent versions of Python refuse it in
    # workers of another context, such as `start_method: spawn`.
    with mock.patch.object(multiprocess_data_loader, "mp", context):
        return start(self, queue, context)


def _get_tokenizer(get: Callable, model_name: str, **kwargs: Any) -> Any:
    # Transformers refuses `add_special_tokens` when it loads a tokenizer. Drop it: AllenNLP also
    # passes it in each call.
    kwargs.pop("add_special_tokens", None)
    return get(model_name, **kwargs)
