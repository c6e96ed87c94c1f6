from typing import List

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from allennlp_semfit.common.errors import check_bounds

__all__ = ["LargeBatchLearningRateScheduler"]

_KEY = "trainer.learning_rate_scheduler"


@LearningRateScheduler.register("large_batch")
class LargeBatchLearningRateScheduler(LearningRateScheduler):
    """
    A schedule for large batches: Chen et al. 2018, "The Best of Both Worlds: Combining Recent
    Advances in Neural Machine Translation", equation 1. The optimizer's `lr` is the learning rate
    for the original batch size, and the batches are `num_replicas` times as large. At update `t`,
    with n = `num_replicas`, p = `warmup_steps`, s = `decay_start` and e = `decay_end`, the learning
    rate is

    `lr * max(1/2, min(1 + t (n - 1) / (n p), n, n (2n)^((s - n t) / (e - s))))`

    It increases linearly from `lr` to `n lr` until update `n p`, stays constant, decreases
    exponentially to `lr / 2` from update `s / n` to update `e / n`, and then stays constant.

    Registered as a `LearningRateScheduler` with name "large_batch".

    # Parameters

    optimizer : `torch.optim.Optimizer`
        This argument does not get an entry in a configuration file for the object.
    num_replicas : `int`
        How many times as large as the original the batch of an update is. All factors count: the
        number of processes, `num_gradient_accumulation_steps` and the batch size of each process.
    warmup_steps : `int`
        The warmup takes `num_replicas * warmup_steps` updates.
    decay_start : `float`
        When the decay starts, in batches of the original size: an update counts as `num_replicas`.
    decay_end : `float`
        When the decay ends, in the same unit.

    # Raises

    `ConfigurationError`
        If `num_replicas` or `warmup_steps` is less than 1, `decay_start` is negative, or
        `decay_end` is not greater than `decay_start`.

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
    ) -> None:
        check_bounds({f"{_KEY}.num_replicas": num_replicas}, at_least=1)
        check_bounds({f"{_KEY}.warmup_steps": warmup_steps}, at_least=1)
        check_bounds({f"{_KEY}.decay_start": decay_start}, at_least=0)
        if not decay_end > decay_start:
            raise ConfigurationError(
                f"{_KEY}.decay_end: {decay_end}; it must be greater than `decay_start`, "
                f"{decay_start}"
            )
        super().__init__(optimizer)
        self.num_replicas = num_replicas
        self.warmup_steps = warmup_steps
        self.decay_start = decay_start
        self.decay_end = decay_end

    def step(self, metric: float = None) -> None:
        # The schedule depends on updates only, not on epochs.
        pass

    def step_batch(self, batch_num_total: int) -> None:  # type: ignore[override]
        """
        Sets the learning rate of the next update. AllenNLP's trainer calls this before each update,
        with the number of that update, starting from 1.
        """
        self.last_epoch = batch_num_total
        for group, value in zip(self.optimizer.param_groups, self.get_values()):
            group[self.param_group_field] = value

    def get_values(self) -> List[float]:
        """The learning rates of the parameter groups at the current update."""
        return [base * self._factor(self.last_epoch) for base in self.base_values]

    def _factor(self, update: int) -> float:
        n = self.num_replicas
        warmup = 1 + update * (n - 1) / (n * self.warmup_steps)
        elapsed = (n * update - self.decay_start) / (self.decay_end - self.decay_start)
        return max(0.5, min(warmup, n * (2 * n) ** -max(0.0, elapsed)))
