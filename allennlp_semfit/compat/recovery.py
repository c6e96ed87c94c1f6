"""How AllenNLP's training writes its serialization directory, and resumes from it."""

import json
import logging
import os
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple, Union
from unittest import mock

import torch
import torch.distributed as dist
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import CONFIG_NAME
from allennlp.nn import util as nn_util
from allennlp.training import GradientDescentTrainer
from allennlp.training.checkpointer import Checkpointer
from allennlp.training.moving_average import MovingAverage
from allennlp.training.trainer import TrainerCheckpoint

from allennlp_semfit.common.errors import DivergenceError, InvalidFileError, first_line
from allennlp_semfit.common.output import lock_output, write_file
from allennlp_semfit.compat import randomness

logger = logging.getLogger(__name__)

_Path = Union[str, os.PathLike]


def train_model(
    train: Callable, params: Params, serialization_dir: _Path, *args: Any, **kwargs: Any
) -> Any:
    with lock_output(Path(serialization_dir)):
        try:
            return train(params, serialization_dir, *args, **kwargs)
        except RuntimeError as error:
            # When interrupted, it archives the best weights, which may be missing just then.
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise


def create_serialization_dir(
    create: Callable, params: Params, serialization_dir: _Path, recover: bool, force: bool
) -> None:
    if not force and os.path.isdir(serialization_dir):
        left = list(Path(serialization_dir).iterdir())
        # As a run leaves it that was killed at its very beginning, or while it wrote the config.
        if all(path.name.startswith(f".{CONFIG_NAME}.") for path in left):
            for path in left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            recover = False
    try:
        create(params, serialization_dir, recover, force)
    except ConfigurationError as error:
        if str(serialization_dir) in str(error):
            raise
        raise ConfigurationError(f"{Path(serialization_dir, CONFIG_NAME)}: {error}") from None
    except (RuntimeError, ValueError, TypeError, AttributeError, LookupError) as error:
        # With `--recover` it compares the configs.
        raise InvalidFileError(
            Path(serialization_dir, CONFIG_NAME),
            f"cannot be read ({first_line(error)})",
            "Replace it by that of another run of the same config, such as one with `--dry-run`, "
            "or train again.",
        ) from error


def archive_model(archive: Callable, serialization_dir: _Path, *args: Any, **kwargs: Any) -> str:
    # `train` gives no path.
    archive_file = Path(serialization_dir, "model.tar.gz")
    if "weights" in kwargs:
        # It looks for a relative path in `serialization_dir`, but gets one that begins with it.
        kwargs["weights"] = os.path.abspath(kwargs["weights"])
    with write_file(archive_file) as new:
        archive(serialization_dir, *args, archive_path=new, **kwargs)
    return str(archive_file)


def write_params(
    to_file: Callable, self: Params, params_file: _Path, *args: Any, **kwargs: Any
) -> None:
    with write_file(Path(params_file)) as new:
        to_file(self, str(new), *args, **kwargs)


def save_model_state(save: Callable, self: GradientDescentTrainer, path: _Path) -> None:
    # The old file can be a hard link to a checkpoint.
    with write_file(Path(path)) as new:
        save(self, str(new))


def restore_checkpoint(restore: Callable, self: GradientDescentTrainer) -> None:
    restore(self)
    randomness.restore_states(self)
    if self._distributed:
        _check_agreement(self)
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


def _check_agreement(self: GradientDescentTrainer) -> None:
    point = torch.tensor(
        [self._start_after_epochs_completed, self._start_after_batches_in_epoch_completed],
        device=self.cuda_device,
    )
    points = [torch.empty_like(point) for _ in range(dist.get_world_size())]
    dist.all_gather(points, point)
    if any(each.tolist() != point.tolist() for each in points):
        found = ", ".join("e{}_b{}".format(*each.tolist()) for each in points)
        raise ConfigurationError(
            f"{self._serialization_dir}: the last checkpoints of the processes differ ({found}). "
            "Remove the later ones, model_state_*.th and training_state_*.th, on each machine."
        )


def train_epoch(train: Callable, self: GradientDescentTrainer, epoch: int) -> Dict[str, float]:
    randomness.begin_epoch(self, epoch)
    metrics: Dict[str, float] = train(self, epoch)
    skipped = self._start_after_batches_in_epoch_completed
    if skipped and epoch == self._start_after_epochs_completed:
        # It divides the sum over the batches since the resumption by the number of all batches.
        completed = self._batches_in_epoch_completed
        for name in {"loss", "reg_loss"} & metrics.keys():
            metrics[name] *= completed / (completed - skipped)
    return metrics


def load_moving_average(load: Callable, self: MovingAverage, state: Dict[str, Any]) -> None:
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
        metrics: Dict[str, Any] = json.loads(path.read_text("utf-8"))
        metrics["best_epoch"]
    except (OSError, ValueError, LookupError, TypeError):
        raise InvalidFileError(
            path, "is missing or damaged", "Restore it, or train again."
        ) from None
    return metrics


def try_train(
    train: Callable, self: GradientDescentTrainer
) -> Tuple[Dict[str, Any], Optional[int]]:
    epochs_completed = self._start_after_epochs_completed
    batches_completed = self._start_after_batches_in_epoch_completed
    if (
        not epochs_completed
        or batches_completed
        or (epochs_completed < self._num_epochs and not self._metric_tracker.should_stop_early())
    ):
        try:
            result: Tuple[Dict[str, Any], int] = train(self)
        except DivergenceError as error:
            if not epochs_completed and not batches_completed:
                raise
            raise ConfigurationError(
                f"{error} The training had resumed from {self._serialization_dir}. To resume from "
                "an earlier checkpoint, remove the last one there."
            ) from error
        return result
    # The training was complete; this only loads the best weights.
    with mock.patch.object(self, "_num_epochs", 0):
        train(self)
    return _metrics_of_epoch(self, epochs_completed - 1), epochs_completed - 1


def load_checkpoint(self: Checkpointer) -> Optional[TrainerCheckpoint]:
    """Loads the latest complete checkpoint, and renames later ones to hide them from AllenNLP."""
    if self._is_primary and not self.state_is_sharded:
        _remove_orphans(self)
    for point_in_time in sorted(self._find_all_checkpoints(), reverse=True):
        paths = self._model_state_path(*point_in_time), self._training_state_path(*point_in_time)
        # A process cannot check the other processes' shards, and all must choose the same
        # checkpoint. So a sharded state follows AllenNLP's own rule, to take the latest.
        if self.state_is_sharded or all(map(_is_complete, paths)):
            model_state, training_state = paths
            device = nn_util.device_mapping(-1)
            try:
                checkpoint = TrainerCheckpoint(
                    torch.load(model_state, map_location=device),
                    torch.load(training_state, map_location=device, weights_only=False),
                )
                randomness.note_states(self, checkpoint)
                # From here it counts the batches to the next one.
                self._last_save_num_epochs_completed = point_in_time[0]
                self._last_save_num_batches_in_epoch_completed = point_in_time[1]
                _remove_old(self)
                return checkpoint
            # Damaged bytes can raise anything. A lack of memory is no damage.
            except Exception as error:
                if self.state_is_sharded or isinstance(error, (MemoryError, OSError)):
                    raise
                if "memory" in str(error):
                    raise
        if self._is_primary:
            logger.warning(
                "The checkpoint in %s and %s is incomplete or damaged. Renaming it to *.incomplete "
                "and looking for an earlier one.",
                *paths,
            )
        # Not only in the first process: other machines have directories of their own.
        for path in paths:
            with suppress(FileNotFoundError):
                os.replace(path, path + ".incomplete")
    return None


def _remove_orphans(self: Checkpointer) -> None:
    # A kill while AllenNLP removes a checkpoint leaves its training state, which is second.
    kept = {Path(self._training_state_path(*point)).name for point in self._find_all_checkpoints()}
    for path in Path(self._serialization_dir).glob("training_state_e*_b*.th"):
        if path.name not in kept:
            path.unlink()


def _remove_old(self: Checkpointer) -> None:
    # AllenNLP does it after it has saved a checkpoint, which may have been the last one.
    count = self._keep_most_recent_by_count
    if self._is_primary and count and self._keep_most_recent_by_age is None:
        for point_in_time in sorted(self._find_all_checkpoints(), reverse=True)[count:]:
            self._remove_checkpoint(*point_in_time)


def remove_checkpoint(self: Checkpointer, epochs: int, batches: int) -> None:
    # AllenNLP's glob for batch 500 also matches batch 5000.
    for kind in ("model_state", "training_state"):
        name = f"{kind}_e{epochs}_b{batches}"
        for path in Path(self._serialization_dir).glob(f"{name}*.th"):
            if path.stem == name or path.stem.startswith(f"{name}_w"):
                path.unlink()


def _is_complete(path: str) -> bool:
    # `torch.save` writes a zip archive, with checksums and its directory at the end.
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    # Damaged bytes can raise anything.
    except Exception:
        return False
