import os
import signal
from pathlib import Path

from allennlp.training.callbacks import TrainerCallback


@TrainerCallback.register("step_recorder")
class StepRecorder(TrainerCallback):
    """
    Writes the learning rate of each step to `steps.txt`, and kills the process, as a power
    failure would, after the step that the environment variable `KILL_AFTER_STEP` names.
    """

    def on_batch(self, trainer, *args, is_training, is_primary, batch_grad_norm=None, **kwargs):
        if not (is_training and is_primary):
            return
        step = trainer._total_batches_completed
        rate = trainer.optimizer.param_groups[0]["lr"]
        with open(Path(self.serialization_dir) / "steps.txt", "a") as file:
            file.write(f"{step} {rate!r}\n")
        if str(step) == os.environ.get("KILL_AFTER_STEP"):
            os.kill(os.getpid(), signal.SIGKILL)
