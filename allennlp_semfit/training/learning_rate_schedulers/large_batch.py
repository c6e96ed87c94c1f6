from typing import List

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

__all__ = ["LargeBatchLearningRateScheduler"]


@LearningRateScheduler.register("large_batch")
class LargeBatchLearningRateScheduler(LearningRateScheduler):
    """
    The schedule for training with batches `num_replicas` times as large as those that the
    optimizer's `lr` was found for: Chen et al. 2018, "The Best of Both Worlds: Combining Recent
    Advances in Neural Machine Translation", equation 1. At update `t`, with n for `num_replicas`,
    p for `warmup_steps`, s for `decay_start` and e for `decay_end`, the learning rate is

    `lr * max(1/2, min(1 + t (n - 1) / (n p), n, n (2n)^((s - n t) / (e - s))))`

    that is: a linear rise from `lr` to `n lr`, reached at update `n p`; a hold; from
    update `s / n` to update `e / n` an exponential fall to `lr / 2`; and that for the rest.

    Registered as a `LearningRateScheduler` with name "large_batch". The "optimizer" argument does
    not get an entry in a configuration file for the object.

    # Parameters

    optimizer : `torch.optim.Optimizer`
        This argument does not get an entry in a configuration file for the object.
    num_replicas : `int`
        How many times larger the batch is: processes, times `num_gradient_accumulation_steps`,
        times the growth of each one's batch.
    warmup_steps : `int`
        The updates of the rise, if the batches were not larger: it takes `num_replicas` times as
        many.
    decay_start : `float`
        When the fall starts, in batches of the original size: `num_replicas` are counted at an
        update.
    decay_end : `float`
        When the fall ends, in the same unit.

    # Raises

    `ConfigurationError`
        If `num_replicas` or `warmup_steps` is less than 1, or the fall does not end after it
        starts.

    # Example

    ```json
    "learning_rate_scheduler": {
        "type": "large_batch",
        "num_replicas": 8,
        "warmup_steps": 500,
        "decay_start": 600000,
        "decay_end": 1200000
    }
    ```
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        num_replicas: int,
        warmup_steps: int,
        decay_start: float,
        decay_end: float,
        last_epoch: int = -1,
    ) -> None:
        if num_replicas < 1:
            raise ConfigurationError(
                f"large_batch: `num_replicas` is {num_replicas}; it takes 1 or more."
            )
        if warmup_steps < 1:
            raise ConfigurationError(
                f"large_batch: `warmup_steps` is {warmup_steps}; it takes 1 or more."
            )
        if not 0 <= decay_start < decay_end:
            raise ConfigurationError(
                f"large_batch: `decay_start` is {decay_start} and `decay_end` is {decay_end}; they "
                "take 0 or more, and `decay_end` the larger one."
            )
        super().__init__(optimizer, last_epoch)
        self.num_replicas = num_replicas
        self.warmup_steps = warmup_steps
        self.decay_start = decay_start
        self.decay_end = decay_end

    def step(self, metric: float = None) -> None:
        # Epochs mean nothing to this schedule.
        pass

    def step_batch(self, batch_num_total: int = None) -> None:
        """
        Sets the learning rate of the update that follows. AllenNLP's trainer calls this before
        each update, with the number of that update, 1 for the first one.
        """
        if batch_num_total is None:
            batch_num_total = max(self.last_epoch, 0) + 1
        self.last_epoch = batch_num_total
        for group, value in zip(self.optimizer.param_groups, self.get_values()):
            group[self.param_group_field] = value

    def get_values(self) -> List[float]:
        """The learning rate of each parameter group, at the update of the last `step_batch`."""
        return [base * self._factor(max(self.last_epoch, 0)) for base in self.base_values]

    def _factor(self, update: int) -> float:
        n = self.num_replicas
        rise = 1 + update * (n - 1) / (n * self.warmup_steps)
        if n * update <= self.decay_start:
            return min(rise, n)
        elapsed = (n * update - self.decay_start) / (self.decay_end - self.decay_start)
        return max(0.5, min(rise, n, n * (2 * n) ** -elapsed))
