"""A trainer and a checkpointer with which `allennlp train --recover` resumes a killed run."""

import json
import logging
import os
import random
import re
import warnings
import zipfile
from contextlib import suppress
from itertools import count
from math import inf
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import torch
import torch.distributed as dist
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.data_loaders.data_collator import DefaultDataCollator
from allennlp.nn.util import dist_reduce
from allennlp.training import Checkpointer, GradientDescentTrainer, Trainer
from allennlp.training.trainer import TrainerCheckpoint

from allennlp_semfit.common.config_params import NamesConfigKey
from allennlp_semfit.data.watched_data_loader import SkippingCollator, WatchedDataLoader

logger = logging.getLogger(__name__)

_CPUINFO = Path("/proc/cpuinfo")
# On a GPU, the progress bar's metrics are refreshed every this many batches.
_BATCHES_PER_METRICS = 20


@Trainer.register("resumable", constructor="from_partial_objects")
class ResumableTrainer(GradientDescentTrainer, NamesConfigKey):
    """
    AllenNLP's `gradient_descent` trainer, with these differences:

    * `bf16` runs the forward pass under autocast in bfloat16, on CPUs and GPUs. `use_amp` is
      AllenNLP's: float16, on GPUs only.
    * On a GPU, the metrics for the progress bar and callbacks are read only after every 20th batch,
      because reading them waits for the GPU. The metrics of an epoch are exact.
    * A run that was killed between a checkpoint and the best weights, or after its last epoch, can
      be resumed.
    * A resumed run does not build the batches that it skips, so it soon catches up.
    * If an epoch is resumed, its training metrics are not written: AllenNLP's would lack the
      batches before the checkpoint.
    * Shuffling the validation data does not change the order of the training data.
    * It is an error if distributed processes would resume from different checkpoints.

    Use it with the `resumable` checkpointer.

    Registered as a `Trainer` with name "resumable".

    # Parameters

    bf16 : `bool`, optional (default = `False`)
        Whether to train in mixed precision with bfloat16. Since bfloat16 has the range of float32,
        gradients are not scaled, and `grad_scaling` has no effect. For language models: some of
        AllenNLP's task models, such as `simple_tagger`, do not support bfloat16.

    # Raises

    `ConfigurationError`
        If `bf16` is not a Boolean, if `use_amp` is set too, if there is a `moving_average` or, when
        training starts, if the last checkpoints of distributed processes differ.

    # Example

    ```json
    "trainer": {
        "type": "resumable",
        "bf16": true,
        "checkpointer": {"type": "resumable", "save_every_num_batches": 500},
        "optimizer": "adam",
        "num_epochs": 3
    }
    ```
    """

    def __init__(self, *args: Any, bf16: bool = False, **kwargs: Any) -> None:
        # AllenNLP does not check the type of a parameter that its own trainer lacks.
        if not isinstance(bf16, bool):
            raise ConfigurationError(f"`bf16` must be true or false, got {bf16!r}")
        if bf16 and kwargs.get("use_amp"):
            raise ConfigurationError("`bf16` and `use_amp` are both set; set only one of them.")
        if kwargs.get("moving_average") is not None:
            # After resuming, AllenNLP averages a copy of the weights, which never changes.
            raise ConfigurationError(
                "A training with `moving_average` cannot be resumed. Leave it out, or use the "
                "trainer `gradient_descent`."
            )
        super().__init__(*args, **kwargs)
        self._bf16 = bf16
        if bf16 and not _has_bfloat16(self.cuda_device):
            on_gpu = self.cuda_device.type == "cuda"
            kind, other = ("GPU", "with `use_amp` (float16)") if on_gpu else ("CPU", "without it")
            logger.warning(
                "`bf16` is set, but this %s has no instructions for bfloat16. The training works, "
                "but it is slower than %s.",
                kind,
                other,
            )

    def train(self) -> Dict[str, Any]:
        with warnings.catch_warnings():
            # The warning about AllenNLP's deprecated call of autocast breaks the progress bar.
            warnings.filterwarnings("ignore", r"`torch\.cuda\.amp\.autocast", FutureWarning)
            try:
                return super().train()
            finally:
                for loader in (self.data_loader, self._validation_data_loader):
                    if isinstance(loader, WatchedDataLoader):
                        loader.stop_workers()

    def batch_outputs(self, batch: Any, for_training: bool) -> Dict[str, torch.Tensor]:
        if not self._bf16:
            # Keep AllenNLP's own autocast, that of `use_amp`.
            return super().batch_outputs(batch, for_training)
        with torch.autocast(self.cuda_device.type, dtype=torch.bfloat16):
            return super().batch_outputs(batch, for_training)

    def rescale_gradients(self) -> Any:
        if self.cuda_device.type == "cpu" or isinstance(self._grad_norm, bool) or self._scaler:
            return super().rescale_gradients()
        # As in AllenNLP, but without reading the norm, which would wait for the GPU.
        if self._ddp_wrapped_model is not None:
            return self._ddp_wrapped_model.clip_grad_norm_(self._grad_norm)
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._grad_norm)

    def _train_epoch(self, epoch: int) -> Dict[str, float]:
        self._skip_batches(epoch)
        skipped = self._start_after_batches_in_epoch_completed
        is_resumed = bool(skipped) and epoch == self._start_after_epochs_completed
        if is_resumed:
            logger.warning(
                "Epoch %d resumes after batch %d. The training metrics in its progress bar lack "
                "the earlier batches, and metrics_epoch_%d.json has no training metrics.",
                epoch,
                skipped,
                epoch,
            )
        get_metrics, calls, latest = self.model.get_metrics, count(), {}

        def get_some_metrics(reset: bool = False) -> Dict[str, float]:
            nonlocal latest
            if reset or next(calls) % _BATCHES_PER_METRICS == 0:
                latest = get_metrics(reset)
            return dict(latest)

        if self.cuda_device.type == "cuda":
            vars(self.model)["get_metrics"] = get_some_metrics
        try:
            metrics: Dict[str, float] = super()._train_epoch(epoch)
        finally:
            vars(self.model).pop("get_metrics", None)
        if is_resumed:
            metrics = {name: metrics[name] for name in metrics if name.endswith("_memory_MB")}
        if self._distributed and epoch < self._start_after_epochs_completed:
            # Each process has skipped all its batches, but trained on no more than the others.
            self._total_batches_completed = dist_reduce(
                self._total_batches_completed, dist.ReduceOp.MIN
            )
        return metrics

    def _skip_batches(self, epoch: int) -> None:
        """Makes the data loader yield empty batches for those that `_train_epoch` skips."""
        loader = self.data_loader
        if not isinstance(loader, MultiProcessDataLoader):
            return
        if type(loader.collate_fn) is DefaultDataCollator and (
            # The batches of AllenNLP's workers have no order.
            loader.num_workers <= 0 or isinstance(loader, WatchedDataLoader)
        ):
            loader.collate_fn = SkippingCollator()
        if isinstance(loader.collate_fn, SkippingCollator):
            num_to_skip = 0.0
            epochs = self._start_after_epochs_completed - epoch
            if epochs >= 0:
                length = loader.batches_per_epoch or inf
                groups = self._start_after_batches_in_epoch_completed
                num_to_skip = min(groups * self._num_gradient_accumulation_steps, length)
                # Zero times infinity is not a number.
                num_to_skip += epochs * length if epochs else 0
            loader.collate_fn.num_to_skip = num_to_skip

    def _validation_loss(self, epoch: int) -> Any:
        # The loader may shuffle, and a resumed run does not repeat earlier validations.
        state = random.getstate()
        try:
            return super()._validation_loss(epoch)
        finally:
            random.setstate(state)

    def _maybe_restore_checkpoint(self) -> None:
        super()._maybe_restore_checkpoint()
        if self._distributed:
            self._check_agreement()
        if self._best_model_filename is not None:
            # The directory may have been renamed.
            name = os.path.basename(self._best_model_filename)
            self._best_model_filename = os.path.join(str(self._serialization_dir), name)
        is_sharded = self._ddp_wrapped_model is not None and self._ddp_wrapped_model.is_sharded
        if (
            self._start_after_epochs_completed
            and not self._start_after_batches_in_epoch_completed
            and self._metric_tracker.is_best_so_far()
            and not is_sharded
        ):
            # AllenNLP writes the best weights after the checkpoint, which has the same weights.
            self._best_model_filename = os.path.join(str(self._serialization_dir), "best.th")
            if self._primary:
                # The file may be a hard link to an older checkpoint.
                with suppress(FileNotFoundError):
                    os.remove(self._best_model_filename)
                self._save_model_state(self._best_model_filename)
        if self._distributed:
            # The other processes may load the best weights at once.
            dist.barrier()

    def _check_agreement(self) -> None:
        point = torch.tensor(
            [self._start_after_epochs_completed, self._start_after_batches_in_epoch_completed],
            device=self.cuda_device,
        )
        points = [torch.empty_like(point) for _ in range(dist.get_world_size())]
        dist.all_gather(points, point)
        if any(each.tolist() != point.tolist() for each in points):
            found = ", ".join("e{}_b{}".format(*each.tolist()) for each in points)
            raise ConfigurationError(
                f"{self._serialization_dir}: the last checkpoints of the processes differ "
                f"({found}). Remove the later ones, model_state_*.th and training_state_*.th, on "
                "each machine."
            )

    def _try_train(self) -> Tuple[Dict[str, Any], int]:
        completed = self._start_after_epochs_completed
        if (
            not completed
            or self._start_after_batches_in_epoch_completed
            or not (completed >= self._num_epochs or self._metric_tracker.should_stop_early())
        ):
            return super()._try_train()
        # The run was killed after its last epoch.
        if self._best_model_filename is not None:
            self._load_model_state(self._best_model_filename)
        path = Path(str(self._serialization_dir), f"metrics_epoch_{completed - 1}.json")
        return json.loads(path.read_text("utf-8")), completed - 1


def has_bfloat16_instructions() -> bool:
    """Whether the CPU multiplies matrices in `bfloat16`: AVX512 or AMX of x86, or BF16 of Arm."""
    return bool(re.search(r"\b(avx512_bf16|amx_bf16|bf16)\b", _CPUINFO.read_text("utf-8")))


def _has_bfloat16(device: torch.device) -> bool:
    if device.type == "cpu":
        return has_bfloat16_instructions()
    with torch.cuda.device(device):
        return torch.cuda.is_bf16_supported(including_emulation=False)


@Checkpointer.register("resumable")
class ResumableCheckpointer(Checkpointer):
    """
    AllenNLP's checkpointer, with two differences: a run that was killed or interrupted while it
    saved a checkpoint resumes from an earlier one, and the checkpoint of batch 5000 is not removed
    along with that of batch 500.

    Registered as a `Checkpointer` with name "resumable".
    """

    def save_checkpoint(self, trainer: Trainer) -> None:
        before = set(self._find_all_checkpoints())
        try:
            super().save_checkpoint(trainer)
        except BaseException:
            # After Ctrl-C or SIGTERM, `torch.save` ends its file as if it were complete.
            saved = (
                self._last_save_num_epochs_completed,
                self._last_save_num_batches_in_epoch_completed,
            )
            for point in set(self._find_all_checkpoints()) - before - {saved}:
                self._remove_checkpoint(*point)
            raise

    def load_checkpoint(self) -> Optional[TrainerCheckpoint]:
        for point in sorted(self._find_all_checkpoints(), reverse=True):
            paths = self._model_state_path(*point), self._training_state_path(*point)
            # `torch.save` writes a zip archive, whose directory is at the end of the file. Sharded
            # checkpoints are not checked, because all processes must choose the same one.
            if self.state_is_sharded or all(map(zipfile.is_zipfile, paths)):
                # Keep the interval to the next checkpoint as without an interruption.
                self._last_save_num_epochs_completed = point[0]
                self._last_save_num_batches_in_epoch_completed = point[1]
                break
            logger.warning(
                "The checkpoint in %s and %s is incomplete. Renaming it to *.incomplete and "
                "looking for an earlier one.",
                *paths,
            )
            for path in paths:
                with suppress(FileNotFoundError):
                    os.replace(path, path + ".incomplete")
        return super().load_checkpoint()

    def _remove_checkpoint(self, epochs_completed: int, batches_in_epoch_completed: int) -> None:
        # In this order, a later run removes the rest of a half-removed checkpoint.
        for kind in ("training_state", "model_state"):
            name = f"{kind}_e{epochs_completed}_b{batches_in_epoch_completed}"
            for pattern in (f"{name}.th", f"{name}_w*.th"):
                for path in Path(self._serialization_dir).glob(pattern):
                    path.unlink()


@TrainModel.register("resumable", constructor="from_partial_objects")
class ResumableTrainModel(TrainModel):
    """
    AllenNLP's training, in which the trainer is `resumable` if the config does not name its type.
    The config can thus be used with `allennlp find-lr`, which only accepts AllenNLP's own trainer
    but ignores the type of the training.

    Registered as a `TrainModel`, which is the whole config, with name "resumable".

    # Example

    ```json
    {
        "type": "resumable",
        "trainer": {"checkpointer": "resumable", "optimizer": "adam"},
        "model": {...}
    }
    ```
    """

    @classmethod
    def from_params(cls, params: Params, *args: Any, **kwargs: Any) -> Any:
        if "trainer" in params:
            params["trainer"].setdefault("type", "resumable")
        return super().from_params(params, *args, **kwargs)
