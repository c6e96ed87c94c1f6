import os
import signal
from pathlib import Path

from allennlp.training.callbacks import TrainerCallback


@TrainerCallback.register("update_recorder")
class UpdateRecorder(TrainerCallback):
    """
    Writes the learning rate of each update to `updates.txt`, and kills the process, as a power
    failure would, after the update that the environment variable `KILL_AFTER_UPDATE` names.
    """

    def on_batch(self, trainer, *args, is_training, batch_grad_norm=None, **kwargs):
        if not is_training:
            return
        update = trainer._total_batches_completed
        rate = trainer.optimizer.param_groups[0]["lr"]
        with open(Path(self.serialization_dir) / "updates.txt", "a") as file:
            file.write(f"{update} {rate!r}\n")
        if str(update) == os.environ.get("KILL_AFTER_UPDATE"):
            os.kill(os.getpid(), signal.SIGKILL)
