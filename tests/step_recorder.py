import os
import signal
from pathlib import Path

from allennlp.training.callbacks import TrainerCallback


@TrainerCallback.register("step_recorder")
class StepRecorder(TrainerCallback):
    """
    Writes the learning rate of each step to `steps.txt`, and kills the process, as a power
    failure would, after the step that the environment variable `KILL_AFTER_STEP` names. With
    `KILL_SIGNAL`, it sends another signal, in a distributed training to the parent process.
    """

    def on_batch(self, trainer, *args, is_training, is_primary, batch_grad_norm=None, **kwargs):
        if not (is_training and is_primary):
            return
        step = trainer._total_batches_completed
        rate = trainer.optimizer.param_groups[0]["lr"]
        with open(Path(self.serialization_dir) / "steps.txt", "a") as file:
            file.write(f"{step} {rate!r}\n")
        if str(step) == os.environ.get("KILL_AFTER_STEP"):
            process = os.getppid() if trainer._distributed else os.getpid()
            os.kill(process, int(os.environ.get("KILL_SIGNAL", signal.SIGKILL)))
