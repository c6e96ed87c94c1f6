"""What a training did: `record.json`, which `experiments.results` reads."""

import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

import torch
from allennlp.nn.util import get_text_field_mask
from allennlp.training.callbacks import TrainerCallback

from experiments.json_files import write_json

FILE_NAME = "record.json"


@TrainerCallback.register("run_record")
class RunRecord(TrainerCallback):
    """
    Writes `record.json` at the end of a training. Its `seconds` are those of all steps with their
    data and checkpoints, without validation, and without what a killed process did after its last
    checkpoint: on a CPU processor time, which hardly depends on other processes. `tokens` are those
    that each direction of a language model predicted. After a resumption there may be two commits.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._steps = self._timed_steps = self._tokens = 0
        self._seconds = 0.0
        self._commits: List[str] = []
        # When the last step ended; None after validation or a resumption.
        self._last: Optional[float] = None
        self._clock = time.perf_counter

    def on_start(self, trainer, is_primary: bool = True, **kwargs) -> None:
        super().on_start(trainer, is_primary=is_primary, **kwargs)
        self._commits = list(dict.fromkeys([*self._commits, describe_commit()]))
        if trainer.cuda_device.type == "cpu":
            self._clock = time.process_time
        self._last = None if self._steps else self._clock()

    def on_batch(
        self, trainer, batch_inputs, *args: Any, is_training: bool = True, **kwargs: Any
    ) -> None:
        if not is_training:
            self._last = None
            return
        now = self._clock()
        if self._last is not None:
            self._seconds += now - self._last
            self._timed_steps += 1
        self._last = now
        self._steps += 1
        self._tokens += sum(map(_count_predicted, batch_inputs)) * trainer._world_size

    def on_epoch(self, trainer, *args: Any, **kwargs: Any) -> None:
        self._last = self._clock()

    def on_end(self, trainer, *args: Any, is_primary: bool = True, **kwargs: Any) -> None:
        if not is_primary:
            return
        device = trainer.cuda_device
        record = {
            "commit": ", ".join(self._commits),
            "device": "cpu" if device.type == "cpu" else torch.cuda.get_device_name(device),
            "trainable_parameters": count_parameters(trainer.model),
            "steps": self._steps,
            # The first step after a resumption, which reads all earlier batches, is not timed.
            "seconds": self._seconds * self._steps / max(1, self._timed_steps),
            "tokens": self._tokens,
        }
        write_json(Path(self.serialization_dir) / FILE_NAME, record)

    def state_dict(self) -> Dict[str, Any]:
        names = ("_steps", "_timed_steps", "_tokens", "_seconds", "_commits")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        vars(self).update(state_dict)


def _count_predicted(batch: Dict[str, Any]) -> int:
    """The tokens after the first of each sentence of a language model's batch."""
    if "source" not in batch:
        return 0
    mask = get_text_field_mask(batch["source"])
    return int(mask.sum()) - len(mask)


def count_parameters(*models: torch.nn.Module) -> int:
    parameters = {each for model in models for each in model.parameters() if each.requires_grad}
    return sum(each.numel() for each in parameters)


def describe_commit() -> str:
    """The commit of the code, with `-dirty` if files other than results differ from it."""
    git = ["git", "-C", str(Path(__file__).parent)]
    commit = subprocess.check_output([*git, "describe", "--always"], text=True).strip()
    unless_results = ["--", ":/", ":(exclude)results"]
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", *unless_results]).returncode
    return f"{commit}-dirty" if changed else commit
