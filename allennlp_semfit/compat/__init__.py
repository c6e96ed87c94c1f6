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
from typing import Any, Callable, List, Optional, Union

import torch
from allennlp.commands import train
from allennlp.common import cached_transformers
from allennlp.common import logging as common_logging
from allennlp.common import util as common_util
from allennlp.common.util import int_to_device
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.samplers import MaxTokensBatchSampler
from allennlp.nn import util as nn_util
from allennlp.training import GradientDescentTrainer
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.trainer import TrainerCheckpoint

from allennlp_semfit.common.cpu import has_bfloat16_instructions
from allennlp_semfit.compat import data_loading, interrupts

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
    * A run ends with an error if one of its loader's workers is killed, for instance for lack of
      memory, instead of waiting for it forever. The workers end with their process.
    * `allennlp train` ends on each SIGTERM and Ctrl-C, with one line and the exit code 143 or 130.
      Both had no effect while workers were started, and SIGTERM not on other processes either.
    * Workers that stream batches of `max_tokens_sampler` wait for the consumer. The sampler reports
      a batch size of -1, so that the loader does not limit its queue and the workers fill the
      shared memory. Empty batches, which come before a sentence of more than `max_tokens`, are
      skipped.
    * `"use_amp": true` trains on a CPU, too, in `bfloat16`. AllenNLP accepts it for GPUs only, and
      some of its functions do not accept `bfloat16`.
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
        data_loading.usual_batch_size  # type: ignore[assignment]
    )
    _wrap(MaxTokensBatchSampler, "get_batch_indices", data_loading.skip_empty_batches)
    for kind in ("instance", "batch"):
        _wrap(MultiProcessDataLoader, f"_start_{kind}_workers", data_loading.start_workers)
        _wrap(MultiProcessDataLoader, f"_{kind}_worker", data_loading.run_worker)
    _wrap(MultiProcessDataLoader, "_join_workers", data_loading.join_workers)
    common_util.SigTermReceived = interrupts.SigTermReceived  # type: ignore[misc, assignment]
    _wrap(common_logging, "prepare_global_logging", interrupts.prepare_global_logging)
    _wrap(train, "train_model", interrupts.train_model)
    _wrap(GradientDescentTrainer, "__init__", _init_trainer)
    _wrap(GradientDescentTrainer, "batch_outputs", _batch_outputs)
    _wrap(nn_util, "tiny_value_of_dtype", _tiny_value_of_dtype)
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


def _init_trainer(init: Callable, self: GradientDescentTrainer, *args: Any, **kwargs: Any) -> None:
    bound = inspect.signature(init).bind(self, *args, **kwargs)
    device = bound.arguments.get("cuda_device")
    if device is None:
        device = 0 if torch.cuda.device_count() else -1
    use_amp = bound.arguments.get("use_amp", False)
    use_cpu_amp = use_amp and int_to_device(device).type == "cpu"
    if use_cpu_amp:
        bound.arguments["use_amp"] = False
        if not has_bfloat16_instructions():
            logger.warning(
                "`use_amp` is set, but this CPU has no instructions for bfloat16. The training "
                "works, but it is slower than without `use_amp`."
            )
    init(*bound.args, **bound.kwargs)
    self._use_cpu_amp = use_cpu_amp  # type: ignore[attr-defined]


def _batch_outputs(
    batch_outputs: Callable, self: GradientDescentTrainer, *args: Any, **kwargs: Any
) -> Any:
    enabled = self._use_cpu_amp  # type: ignore[attr-defined]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        return batch_outputs(self, *args, **kwargs)


def _tiny_value_of_dtype(tiny_value_of_dtype: Callable, dtype: torch.dtype) -> float:
    # It has the range of `float32`.
    value: float = tiny_value_of_dtype(torch.float if dtype == torch.bfloat16 else dtype)
    return value


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
