"""
Mends AllenNLP 2.10.1, the last version there is, where a later PyTorch or Python or a killed run
breaks it.

`apply_patches` replaces methods of AllenNLP's own classes. Registering subclasses under the same
names is not enough: `Trainer` builds a `Checkpointer` without the registry, and code that imports
the scheduler's class would still get the broken one. `allennlp_semfit` calls it on import, so each
process that imports the plugin is patched. Calling it again has no effect.
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
    Applies all mends that the installed PyTorch calls for:

    * The learning rate scheduler `reduce_on_plateau` can be built. PyTorch's scheduler no longer
      takes `verbose`, which AllenNLP always passes. Configs may still set it, and it does nothing.
    * `allennlp train --recover` reads any training state that the run has written. Since PyTorch
      2.6 `torch.load` refuses all but tensors and a few plain types, and a state holds more: the
      learning rate of the scheduler `cosine` is a NumPy number, a metric of a model may be one, and
      a callback or a scheduler stores what it likes. No list of classes to allow can be complete
      for that. The model's weights are read as strictly as before.
    * `MultiProcessDataLoader` can spawn its workers. It hands them a lock of the default context,
      which Python has come to refuse where that is another one than theirs.
    * Workers that stream batches of `max_tokens_sampler` wait until some of them are taken.
      The sampler says that it puts -1 sentences into a batch, from which the loader concludes that
      any number of batches may lie ready, and the workers fill the shared memory with the corpus.
      Nor is a batch empty any more, as the first one is if it begins with a sentence of more than
      `max_tokens`.
    * `--recover` passes over a checkpoint in whose writing the run was killed. AllenNLP takes it
      for the latest, fails to read it, and would not write it again either.
    * Tokenizers, indexers and embedders of type `pretrained_transformer` can be built. Recent
      versions of Transformers refuse the argument `add_special_tokens`, which AllenNLP passes when
      it loads a tokenizer. It has no effect there: each call of a tokenizer sets it.
    """
    if "verbose" not in inspect.signature(torch.optim.lr_scheduler.ReduceLROnPlateau).parameters:
        ReduceOnPlateauLearningRateScheduler.__init__ = (  # type: ignore[method-assign]
            _init_reduce_on_plateau
        )
    Checkpointer.load_checkpoint = _load_checkpoint  # type: ignore[method-assign]
    MaxTokensBatchSampler.get_batch_size = (  # type: ignore[method-assign]
        _usual_batch_size  # type: ignore[assignment]
    )
    if not hasattr(MaxTokensBatchSampler.get_batch_indices, "__wrapped__"):
        MaxTokensBatchSampler.get_batch_indices = (  # type: ignore[method-assign]
            _without_empty_batches(MaxTokensBatchSampler.get_batch_indices)
        )
    for name in ("_start_instance_workers", "_start_batch_workers"):
        start_workers = getattr(MultiProcessDataLoader, name)
        if not hasattr(start_workers, "__wrapped__"):
            setattr(MultiProcessDataLoader, name, _with_lock_of_context(start_workers))
    if not hasattr(cached_transformers.get_tokenizer, "__wrapped__"):
        cached_transformers.get_tokenizer = _without_add_special_tokens(
            cached_transformers.get_tokenizer
        )


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
    # Any: PyTorch's annotations of it differ from AllenNLP's, and from one version to the next.
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


def _with_lock_of_context(start_workers: Callable) -> Callable:
    @functools.wraps(start_workers)
    def start_workers_with_lock_of_context(self: MultiProcessDataLoader, queue: Any, context: Any):
        # All that the method takes from this module is the lock.
        with mock.patch.object(multiprocess_data_loader, "mp", context):
            return start_workers(self, queue, context)

    return start_workers_with_lock_of_context


def _usual_batch_size(self: MaxTokensBatchSampler) -> int:
    # Before any is read: as many sentences of 25 words as go into a batch.
    return max(self.max_tokens // 25, 1)


def _without_empty_batches(get_batch_indices: Callable) -> Callable:
    @functools.wraps(get_batch_indices)
    def get_batch_indices_without_empty_batches(
        self: MaxTokensBatchSampler, instances: Sequence[Instance]
    ) -> Iterator[List[int]]:
        return filter(None, get_batch_indices(self, instances))

    return get_batch_indices_without_empty_batches


def _without_add_special_tokens(get_tokenizer: Callable) -> Callable:
    @functools.wraps(get_tokenizer)
    def get_tokenizer_without_add_special_tokens(model_name: str, **kwargs: Any) -> Any:
        kwargs.pop("add_special_tokens", None)
        return get_tokenizer(model_name, **kwargs)

    return get_tokenizer_without_add_special_tokens


def _load_checkpoint(self: Checkpointer) -> Optional[TrainerCheckpoint]:
    """
    Loads the latest checkpoint that is complete, and puts later ones out of AllenNLP's sight.

    # Returns

    `Optional[TrainerCheckpoint]`
        `None` if there is none.
    """
    for point_in_time in sorted(self._find_all_checkpoints(), reverse=True):
        paths = self._model_state_path(*point_in_time), self._training_state_path(*point_in_time)
        # Of a sharded state the other processes' shards count too, which only AllenNLP's own rule,
        # to take the latest, treats alike in all of them.
        if self.state_is_sharded or all(map(_is_complete, paths)):
            model_state, training_state = paths
            device = nn_util.device_mapping(-1)
            return TrainerCheckpoint(
                torch.load(model_state, map_location=device),
                _load_own_file(training_state, map_location=device),
            )
        if self._is_primary:
            logger.warning(
                "The checkpoint in %s and %s is incomplete: the run was killed while it wrote it. "
                "Renaming it to *.incomplete and looking for an earlier one.",
                *paths,
            )
            for path in filter(os.path.exists, paths):
                os.replace(path, path + ".incomplete")
    return None


def _is_complete(path: str) -> bool:
    # What `torch.save` writes is a zip archive, whose directory comes last.
    return zipfile.is_zipfile(path)


def _load_own_file(path: str, **kwargs):
    # PyTorch before 1.13 has no such parameter, and reads everything.
    if "weights_only" in inspect.signature(torch.load).parameters:
        kwargs["weights_only"] = False
    return torch.load(path, **kwargs)
