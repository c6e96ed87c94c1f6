"""
Fixes for AllenNLP 2.10.1, its last version, with recent versions of PyTorch and Python.

`apply_patches` replaces methods of AllenNLP's own classes, because not all code finds subclasses
through the registry: `Trainer` builds a `Checkpointer` directly. `allennlp_semfit` calls it on
import, so it applies in each process that imports the plugin. Calling it again has no effect.
"""

import functools
import inspect
import json
import logging
import os
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type, Union
from unittest import mock

import torch
from allennlp.commands import train
from allennlp.common import Params, cached_transformers
from allennlp.common.util import int_to_device
from allennlp.data import Instance, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader, multiprocess_data_loader
from allennlp.data.samplers import MaxTokensBatchSampler
from allennlp.data.vocabulary import NAMESPACE_PADDING_FILE
from allennlp.models.archival import CONFIG_NAME
from allennlp.nn import util as nn_util
from allennlp.training import GradientDescentTrainer
from allennlp.training import util as training_util
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.moving_average import MovingAverage
from allennlp.training.trainer import TrainerCheckpoint

from allennlp_semfit.common.cpu import has_bfloat16_instructions
from allennlp_semfit.common.errors import InvalidFileError, first_line
from allennlp_semfit.common.output import lock_output, write_file

logger = logging.getLogger(__name__)

_Path = Union[str, os.PathLike]


def apply_patches() -> None:
    """
    Applies all fixes that the installed PyTorch needs:

    * The scheduler `reduce_on_plateau` can be built. PyTorch's class no longer has the parameter
      `verbose`, which AllenNLP always passes. Configs may still set it, without effect.
    * `allennlp train --recover` reads all training states. Since PyTorch 2.6 `torch.load` accepts
      only tensors and a few plain types, but schedulers, metrics and callbacks store others, such
      as NumPy numbers. The model's weights are read as strictly as before.
    * `--recover` skips a checkpoint that a killed run left incomplete, or that is damaged. AllenNLP
      would fail to read it, and would not write it again.
    * A damaged file of a vocabulary is an error that names it.
    * `--recover` gives the result of an uninterrupted run, wherever a run was killed. AllenNLP
      writes the best weights after the checkpoint. If a run was killed in between, it would archive
      older weights, or fail because there are none. A run that was complete would lose most of its
      metrics or, if `patience` had run out, train for another epoch. A moving average would not
      follow the model any more.
    * `allennlp train` locks its serialization directory, and replaces its config, best weights and
      archive only when the new ones are complete. Ctrl-C archives the best weights even if the path
      of the directory is relative.
    * `MultiProcessDataLoader` can spawn its workers. It passes them a lock of the default context,
      which recent versions of Python reject in another context.
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
        _usual_batch_size  # type: ignore[assignment]
    )
    _wrap(MaxTokensBatchSampler, "get_batch_indices", _skip_empty_batches)
    _wrap(MultiProcessDataLoader, "_start_instance_workers", _start_with_lock_of_context)
    _wrap(MultiProcessDataLoader, "_start_batch_workers", _start_with_lock_of_context)
    _wrap(train, "train_model", _train_model)
    _wrap(training_util, "create_serialization_dir", _create_serialization_dir)
    _wrap(train, "archive_model", _archive_model)
    _wrap(Params, "to_file", _write_params)
    _wrap(GradientDescentTrainer, "__init__", _init_trainer)
    _wrap(GradientDescentTrainer, "_maybe_restore_checkpoint", _restore_checkpoint)
    _wrap(GradientDescentTrainer, "_try_train", _try_train)
    _wrap(GradientDescentTrainer, "_save_model_state", _save_model_state)
    _wrap(MovingAverage, "load_state_dict", _load_moving_average)
    _wrap(Vocabulary, "from_files", _read_vocabulary)
    _wrap(Vocabulary, "set_from_file", _read_namespace)
    _wrap(GradientDescentTrainer, "batch_outputs", _batch_outputs)
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


def _train_model(
    train_model: Callable, params: Params, serialization_dir: _Path, *args: Any, **kwargs: Any
) -> Any:
    with lock_output(Path(serialization_dir)):
        return train_model(params, serialization_dir, *args, **kwargs)


def _create_serialization_dir(
    create: Callable, params: Params, serialization_dir: _Path, *args: Any, **kwargs: Any
) -> None:
    try:
        create(params, serialization_dir, *args, **kwargs)
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        # With `--recover` it compares the configs.
        raise InvalidFileError(
            Path(serialization_dir, CONFIG_NAME),
            f"cannot be read ({first_line(error)})",
            "Replace it by that of another run of the same config, such as one with `--dry-run`, "
            "or train again.",
        ) from error


def _archive_model(
    archive_model: Callable, serialization_dir: _Path, *args: Any, **kwargs: Any
) -> str:
    # `train` gives no path.
    archive_file = Path(serialization_dir, "model.tar.gz")
    if "weights" in kwargs:
        # It looks for a relative path in `serialization_dir`, but gets one that begins with it.
        kwargs["weights"] = os.path.abspath(kwargs["weights"])
    with write_file(archive_file) as new:
        archive_model(serialization_dir, *args, archive_path=new, **kwargs)
    return str(archive_file)


def _write_params(to_file: Callable, self: Params, params_file: _Path, *args: Any) -> None:
    with write_file(Path(params_file)) as new:
        to_file(self, str(new), *args)


def _save_model_state(save: Callable, self: GradientDescentTrainer, path: _Path) -> None:
    # The old file can be a hard link to a checkpoint.
    with write_file(Path(path)) as new:
        save(self, str(new))


def _restore_checkpoint(restore: Callable, self: GradientDescentTrainer) -> None:
    restore(self)
    if not self._start_after_epochs_completed:
        return
    last_epoch = self._start_after_epochs_completed - 1
    best_epoch = _metrics_of_epoch(self, last_epoch)["best_epoch"]
    if best_epoch is None:
        # It had not been validated.
        return
    is_sharded = self._ddp_wrapped_model is not None and self._ddp_wrapped_model.is_sharded
    path = os.path.join(
        self._serialization_dir, f"best_w{self._rank}.th" if is_sharded else "best.th"
    )
    # The checkpoint has that of the epoch before, and the directory may have been renamed.
    self._best_model_filename = path
    if not is_sharded and not self._primary:
        return
    if best_epoch == last_epoch and not self._start_after_batches_in_epoch_completed:
        if self._moving_average is not None:
            self._moving_average.assign_average_value()
        self._save_model_state(path)
        if self._moving_average is not None:
            self._moving_average.restore()
    elif not _is_complete(path):
        raise InvalidFileError(
            path,
            "is missing or damaged",
            f"It must have the weights of epoch {best_epoch}. Restore it, or train again.",
        )


def _load_moving_average(load: Callable, self: MovingAverage, state: Dict[str, Any]) -> None:
    # It would take the checkpoint's parameters for the model's.
    for averages, saved in (
        (self._shadows, state["shadows"]),
        (self._backups, state["backups"]),
    ):
        for name, tensor in saved.items():
            averages[name].copy_(tensor)


def _metrics_of_epoch(self: GradientDescentTrainer, epoch: int) -> Dict[str, Any]:
    path = Path(self._serialization_dir, f"metrics_epoch_{epoch}.json")
    try:
        metrics: Dict[str, Any] = json.loads(path.read_text())
        metrics["best_epoch"]
    except (OSError, ValueError, LookupError, TypeError):
        raise InvalidFileError(
            path, "is missing or damaged", "Restore it, or train again."
        ) from None
    return metrics


def _try_train(
    try_train: Callable, self: GradientDescentTrainer
) -> Tuple[Dict[str, Any], Optional[int]]:
    epochs_completed = self._start_after_epochs_completed
    if (
        not epochs_completed
        or self._start_after_batches_in_epoch_completed
        or (epochs_completed < self._num_epochs and not self._metric_tracker.should_stop_early())
    ):
        result: Tuple[Dict[str, Any], int] = try_train(self)
        return result
    # The training was complete; this only loads the best weights.
    with mock.patch.object(self, "_num_epochs", 0):
        try_train(self)
    return _metrics_of_epoch(self, epochs_completed - 1), epochs_completed - 1


def _read_vocabulary(
    read: Callable, cls: Type[Vocabulary], directory: _Path, *args: Any, **kwargs: Any
) -> Vocabulary:
    try:
        vocabulary: Vocabulary = read(cls, directory, *args, **kwargs)
    # The other files' errors have been converted. An empty line is an `IndexError`.
    except (UnicodeError, IndexError) as error:
        raise _vocabulary_error(os.path.join(directory, NAMESPACE_PADDING_FILE), error) from error
    return vocabulary


def _read_namespace(
    read: Callable, self: Vocabulary, filename: str, is_padded: bool = True, **kwargs: Any
) -> None:
    namespace = kwargs.get("namespace", "tokens")
    try:
        read(self, filename, is_padded, **kwargs)
        num_words = len(self._token_to_index[namespace])
        if num_words < len(self._index_to_token[namespace]):
            raise ValueError("it has a word twice")
    except (OSError, UnicodeError, ValueError, AssertionError) as error:
        raise _vocabulary_error(filename, error) from error


def _vocabulary_error(filename: str, error: Exception) -> InvalidFileError:
    return InvalidFileError(
        filename,
        f"cannot be read ({first_line(error)})",
        "Copy it again, or make it again: `allennlp count-vocabulary` or `train-bpe` makes that of "
        "a language model.",
        kind="vocabulary file",
    )


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
                "The checkpoint in %s and %s is incomplete or damaged. Renaming it to *.incomplete "
                "and looking for an earlier one.",
                *paths,
            )
            for path in filter(os.path.exists, paths):
                os.replace(path, path + ".incomplete")
    return None


def _is_complete(path: str) -> bool:
    # `torch.save` writes a zip archive, with checksums and its directory at the end.
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    # Damaged bytes can raise anything.
    except Exception:
        return False


def _load_own_file(path: str, **kwargs):
    # PyTorch before 1.13 lacks this parameter and loads all types.
    if "weights_only" in inspect.signature(torch.load).parameters:
        kwargs["weights_only"] = False
    return torch.load(path, **kwargs)
