"""
Fixes for AllenNLP 2.10.1, its last version, with recent versions of PyTorch and Python.

`apply_patches` replaces methods of AllenNLP's own classes, because not all code finds subclasses
through the registry: `Trainer` builds a `Checkpointer` directly. `allennlp_semfit` calls it on
import, so it applies in each process that imports the plugin. Calling it again has no effect.
"""

import functools
import inspect
import logging
from typing import Any, Callable, Dict, List, Union
from unittest import mock

import torch
import torch.distributed as dist
from allennlp.commands import train
from allennlp.common import Params, cached_transformers
from allennlp.common import logging as common_logging
from allennlp.common import util as common_util
from allennlp.common.util import int_to_device
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.samplers import MaxTokensBatchSampler
from allennlp.nn import util as nn_util
from allennlp.training import GradientDescentTrainer
from allennlp.training import util as training_util
from allennlp.training.callbacks.backward import MixedPrecisionBackwardCallback
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.moving_average import MovingAverage

from allennlp_semfit.common.cpu import has_bfloat16_instructions
from allennlp_semfit.compat import data_loading, interrupts, randomness, recovery, vocabulary

logger = logging.getLogger(__name__)


def apply_patches() -> None:
    """
    Mends AllenNLP:

    * The scheduler `reduce_on_plateau` can be built. PyTorch's class no longer has the parameter
      `verbose`, which AllenNLP always passes. Configs may still set it, without effect.
    * `allennlp train --recover` reads all training states. By default, `torch.load` accepts only
      tensors and a few plain types, but schedulers, metrics and callbacks store others, such as
      NumPy numbers. The model's weights are read as strictly as before.
    * `--recover` skips a checkpoint that a killed run left incomplete, or that is damaged. AllenNLP
      would fail to read it, and would not write it again.
    * A damaged file of a vocabulary is an error that names it.
    * `--recover` gives the result of an uninterrupted run, wherever a run was killed. AllenNLP
      writes the best weights after the checkpoint. If a run was killed in between, it would archive
      older weights, or fail because there are none. A run that was complete would lose most of its
      metrics or, if `patience` had run out, train for another epoch. A moving average would not
      follow the model any more. In one process, the order of batches is the same, which validation
      with a batch sampler would change, and so are the random numbers of NumPy and PyTorch in the
      model, such as those of dropout. A data loader may have one worker, but several have no fixed
      order anyway.
    * With `use_amp` on a GPU, a resumed run continues with the loss scale of its checkpoint.
    * In an epoch that `--recover` resumes, the training loss is the mean of the remaining batches.
      AllenNLP divides their sum by the number of all.
    * Removing the checkpoint of batch 500 leaves that of batch 5000.
    * With `use_amp` on a GPU and `num_gradient_accumulation_steps`, an update has the mean gradient
      of its batches. AllenNLP clips and applies their sum.
    * Distributed processes that would resume from different checkpoints are an error.
    * `evaluate_on_test` works in distributed training. One process evaluates, after the others have
      ended, but its metrics would wait for theirs, and it has read only its share of the test data.
    * `allennlp train` locks its serialization directory, and replaces its config, best weights and
      archive only when the new ones are complete. Ctrl-C archives the best weights even if the path
      of the directory is relative.
    * `MultiProcessDataLoader` can spawn its workers. It passes them a lock of the default context,
      which recent versions of Python reject in another context. In distributed training, they read
      the share of their process; with AllenNLP, those of all processes read the same.
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
    ReduceOnPlateauLearningRateScheduler.__init__ = (  # type: ignore[method-assign]
        _init_reduce_on_plateau
    )
    Checkpointer.load_checkpoint = recovery.load_checkpoint  # type: ignore[method-assign]
    Checkpointer._remove_checkpoint = (  # type: ignore[method-assign]
        recovery.remove_checkpoint  # type: ignore[assignment]
    )
    MaxTokensBatchSampler.get_batch_size = (  # type: ignore[method-assign]
        data_loading.usual_batch_size  # type: ignore[assignment]
    )
    _wrap(MaxTokensBatchSampler, "get_batch_indices", data_loading.skip_empty_batches)
    for kind in ("instance", "batch"):
        _wrap(MultiProcessDataLoader, f"_start_{kind}_workers", data_loading.start_workers)
        _wrap(MultiProcessDataLoader, f"_{kind}_worker", data_loading.run_worker)
    _wrap(MultiProcessDataLoader, "_join_workers", data_loading.join_workers)
    _wrap(DatasetReader, "shard_iterable", data_loading.shard_iterable)
    common_util.SigTermReceived = interrupts.SigTermReceived  # type: ignore[misc, assignment]
    _wrap(common_logging, "prepare_global_logging", interrupts.prepare_global_logging)
    _wrap(train, "train_model", _train_model)
    _wrap(training_util, "create_serialization_dir", recovery.create_serialization_dir)
    _wrap(train, "archive_model", recovery.archive_model)
    _wrap(train.TrainModel, "finish", _finish)
    _wrap(Params, "to_file", recovery.write_params)
    _wrap(GradientDescentTrainer, "__init__", _init_trainer)
    _wrap(GradientDescentTrainer, "_maybe_restore_checkpoint", recovery.restore_checkpoint)
    _wrap(GradientDescentTrainer, "_try_train", recovery.try_train)
    _wrap(GradientDescentTrainer, "_train_epoch", recovery.train_epoch)
    _wrap(GradientDescentTrainer, "_save_model_state", recovery.save_model_state)
    _wrap(GradientDescentTrainer, "get_checkpoint_state", randomness.get_checkpoint_state)
    _wrap(MovingAverage, "load_state_dict", recovery.load_moving_average)
    _wrap(Vocabulary, "from_files", vocabulary.read_vocabulary)
    _wrap(Vocabulary, "set_from_file", vocabulary.read_namespace)
    _wrap(GradientDescentTrainer, "batch_outputs", _batch_outputs)
    _wrap(MixedPrecisionBackwardCallback, "on_backward", _on_backward)
    _wrap(GradientDescentTrainer, "rescale_gradients", _rescale_gradients)
    _wrap(nn_util, "tiny_value_of_dtype", _tiny_value_of_dtype)
    _wrap(cached_transformers, "get_tokenizer", _drop_add_special_tokens)


def _wrap(owner: Any, name: str, wrapper: Callable) -> None:
    found = inspect.getattr_static(owner, name)
    is_classmethod = isinstance(found, classmethod)
    function = found.__func__ if is_classmethod else found
    if hasattr(function, "__wrapped__"):
        return

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return wrapper(function, *args, **kwargs)

    setattr(owner, name, classmethod(wrapped) if is_classmethod else wrapped)


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
    # `Any`, because its annotations differ from AllenNLP's.
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
    self._accumulated = 0  # type: ignore[attr-defined]
    self._states_of_epochs = []  # type: ignore[attr-defined]
    self._restored_states = []  # type: ignore[attr-defined]
    self._generators = None  # type: ignore[attr-defined]


def _batch_outputs(
    batch_outputs: Callable, self: GradientDescentTrainer, batch: Any, for_training: bool
) -> Any:
    if for_training:
        randomness.begin_batch(self)
    enabled = self._use_cpu_amp  # type: ignore[attr-defined]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        return batch_outputs(self, batch, for_training)


def _on_backward(
    on_backward: Callable,
    self: MixedPrecisionBackwardCallback,
    trainer: GradientDescentTrainer,
    *args: Any,
    **kwargs: Any,
) -> bool:
    trainer._accumulated += 1  # type: ignore[attr-defined]
    result: bool = on_backward(self, trainer, *args, **kwargs)
    return result


def _rescale_gradients(rescale_gradients: Callable, self: GradientDescentTrainer) -> Any:
    # Only the trainer knows how many batches the last update of an epoch has.
    batches, self._accumulated = self._accumulated, 0  # type: ignore[attr-defined]
    if batches > 1:
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad /= batches
    return rescale_gradients(self)


def _tiny_value_of_dtype(tiny_value_of_dtype: Callable, dtype: torch.dtype) -> float:
    # It has the range of `float32`.
    value: float = tiny_value_of_dtype(torch.float if dtype == torch.bfloat16 else dtype)
    return value


def _drop_add_special_tokens(get_tokenizer: Callable, model_name: str, **kwargs: Any) -> Any:
    kwargs.pop("add_special_tokens", None)
    return get_tokenizer(model_name, **kwargs)


def _finish(finish: Callable, self: train.TrainModel, metrics: Dict[str, Any]) -> None:
    if not common_util.is_distributed():
        finish(self, metrics)
        return
    loader = self.evaluation_data_loader
    if isinstance(loader, MultiProcessDataLoader):
        # It reads the data again.
        loader._instances = None
        loader.reader._set_distributed_info(None)
    with mock.patch.object(dist, "is_initialized", return_value=False):
        finish(self, metrics)


def _train_model(train_model: Callable, *args: Any, **kwargs: Any) -> Any:
    locked = functools.partial(recovery.train_model, train_model)
    return interrupts.train_model(locked, *args, **kwargs)
