"""
Fixes for AllenNLP 2.10.1, its last version, with recent versions of PyTorch and Python.

`apply_patches` replaces methods of AllenNLP's own classes, because not all code finds subclasses
through the registry: `Trainer` builds a `Checkpointer` directly. `allennlp_semfit` calls it on
import, so it applies in each process that imports the plugin. Calling it again has no effect.
"""

import functools
import inspect
import logging
import os
import zipfile
from typing import Any, Callable, Iterator, List, Optional, Sequence, Union
from unittest import mock

import torch
from allennlp.common import cached_transformers
from allennlp.data import Instance
from allennlp.data.data_loaders import MultiProcessDataLoader, multiprocess_data_loader
from allennlp.data.samplers import MaxTokensBatchSampler
from allennlp.nn import util as nn_util
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.trainer import TrainerCheckpoint

logger = logging.getLogger(__name__)


def apply_patches() -> None:
    """
    Applies all fixes that the installed PyTorch needs:

    * The scheduler `reduce_on_plateau` can be built. PyTorch's class no longer has the parameter
      `verbose`, which AllenNLP always passes. Configs may still set it, without effect.
    * `allennlp train --recover` reads all training states. Since PyTorch 2.6 `torch.load` accepts
      only tensors and a few plain types, but schedulers, metrics and callbacks store others, such
      as NumPy numbers. The model's weights are read as strictly as before.
    * `--recover` skips a checkpoint that a killed run left incomplete. AllenNLP would fail to read
      it, and would not write it again.
    * `MultiProcessDataLoader` can spawn its workers. It passes them a lock of the default context,
      which recent versions of Python reject in another context.
    * Workers that stream batches of `max_tokens_sampler` wait for the consumer. The sampler reports
      a batch size of -1, so that the loader does not limit its queue and the workers fill the
      shared memory. Empty batches, which come before a sentence of more than `max_tokens`, are
      skipped.
    * Tokenizers, indexers and embedders of type `pretrained_transformer` can be built. Recent
      versions of Transformers reject `add_special_tokens` when a tokenizer is loaded, where it has
      no effect: AllenNLP also sets it in each call.
    """
    if "verbose" not in inspect.signature(torch.optim.lr_scheduler.ReduceLROnPlateau).parameters:
        ReduceOnPlateauLearningRateScheduler.__init__ = (  # type: ignore[method-assign]
            _init_reduce_on_plateau
        )
    Checkpointer.load_checkpoint = _load_checkpoint  # type: ignore[method-assign]
    MaxTokensBatchSampler.get_batch_size = (  # type: ignore[method-assign]
        _usual_batch_size  # type: ignore[assignment]
    )
    _wrap(MaxTokensBatchSampler, "get_batch_indices", _skip_empty_batches)
    _wrap(MultiProcessDataLoader, "_start_instance_workers", _start_with_lock_of_context)
    _wrap(MultiProcessDataLoader, "_start_batch_workers", _start_with_lock_of_context)
    _wrap(cached_transformers, "get_tokenizer", _drop_add_special_tokens)


def _wrap(owner: Any, name: str, wrapper: Callable) -> None:
    function = getattr(owner, name)
    if hasattr(function, "__wrapped__"):
        return

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(function, *args, **kwargs)

    setattr(owner, name, wrapped)


def _init_reduce_on_plateau(
    self: ReduceOnPlateauLearningRateScheduler,
    optimizer: torch.optim.Optimizer,
    mode: str = "min",
    factor: float = 0.1,
    patience: int = 10,
    verbose: bool = False,
    threshold_mode: str = "rel",
    threshold: float = 1e-4,
    cooldown: int = 0,
    min_lr: Union[float, List[float]] = 0,
    eps: float = 1e-8,
) -> None:
    # `Any`, because its annotations differ from AllenNLP's, and between versions.
    scheduler: Any = torch.optim.lr_scheduler.ReduceLROnPlateau
    self.lr_scheduler = scheduler(
        optimizer,
        mode=mode,
        factor=factor,
        patience=patience,
        threshold_mode=threshold_mode,
        threshold=threshold,
        cooldown=cooldown,
        min_lr=min_lr,
        eps=eps,
    )


def _start_with_lock_of_context(
    start_workers: Callable, self: MultiProcessDataLoader, queue: Any, context: Any
) -> Any:
    # The method uses the module `mp` only for the lock.
    with mock.patch.object(multiprocess_data_loader, "mp", context):
        return start_workers(self, queue, context)


def _usual_batch_size(self: MaxTokensBatchSampler) -> int:
    # An estimate, for sentences of 25 words.
    return max(self.max_tokens // 25, 1)


def _skip_empty_batches(
    get_batch_indices: Callable, self: MaxTokensBatchSampler, instances: Sequence[Instance]
) -> Iterator[List[int]]:
    return filter(None, get_batch_indices(self, instances))


def _drop_add_special_tokens(get_tokenizer: Callable, model_name: str, **kwargs: Any) -> Any:
    kwargs.pop("add_special_tokens", None)
    return get_tokenizer(model_name, **kwargs)


def _load_checkpoint(self: Checkpointer) -> Optional[TrainerCheckpoint]:
    """Loads the latest complete checkpoint, and renames later ones to hide them from AllenNLP."""
    for point_in_time in sorted(self._find_all_checkpoints(), reverse=True):
        paths = self._model_state_path(*point_in_time), self._training_state_path(*point_in_time)
        # A process cannot check the other processes' shards, and all must choose the same
        # checkpoint. So a sharded state follows AllenNLP's own rule, to take the latest.
        if self.state_is_sharded or all(map(_is_complete, paths)):
            model_state, training_state = paths
            device = nn_util.device_mapping(-1)
            return TrainerCheckpoint(
                torch.load(model_state, map_location=device),
                _load_own_file(training_state, map_location=device),
            )
        if self._is_primary:
            logger.warning(
                "The checkpoint in %s and %s is incomplete, because the run was killed. Renaming "
                "it to *.incomplete and looking for an earlier one.",
                *paths,
            )
            for path in filter(os.path.exists, paths):
                os.replace(path, path + ".incomplete")
    return None


def _is_complete(path: str) -> bool:
    # `torch.save` writes a zip archive, whose directory comes last.
    return zipfile.is_zipfile(path)


def _load_own_file(path: str, **kwargs):
    # PyTorch before 1.13 lacks this parameter and loads all types.
    if "weights_only" in inspect.signature(torch.load).parameters:
        kwargs["weights_only"] = False
    return torch.load(path, **kwargs)
