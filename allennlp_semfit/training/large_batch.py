import logging
from typing import List, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.nn.util import dist_reduce
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from allennlp_semfit.common.errors import check_bounds

logger = logging.getLogger(__name__)

_KEY = "trainer.learning_rate_scheduler"


@LearningRateScheduler.register("large_batch")
class LargeBatchLearningRateScheduler(LearningRateScheduler):
    """
    A schedule for large batches: Chen et al. 2018, "The Best of Both Worlds: Combining Recent
    Advances in Neural Machine Translation", equation 1. The optimizer's `lr` is the learning rate
    for the original batch size, and the batches are `num_replicas` times as large. At step `t`,
    with n = `num_replicas`, p = `warmup_steps`, s = `decay_start` and e = `decay_end`, the learning
    rate is

    `lr * max(1/2, min(1 + t (n - 1) / (n p), n, n (2n)^((s - n t) / (e - s))))`

    It increases linearly from `lr` to `n lr` until step `n p`, stays constant, decreases
    exponentially to `lr / 2` from step `s / n` to step `e / n`, and then stays constant. By
    default, it increases in the first tenth of the training and decreases in the second half. In a
    training loop of your own, call `step_batch(t)` before step `t`, from 1; `step()` does nothing.

    Registered as a `LearningRateScheduler` with name "large_batch".

    # Parameters

    num_replicas : `int`
        The ratio of the batch size of a step to the original batch size. All factors count: the
        number of processes, `num_gradient_accumulation_steps` and the batch size of each process.
        It is also the ratio of the peak learning rate to `lr`.
    warmup_steps : `float`, optional (default = `None`)
        The warmup takes `num_replicas * warmup_steps` steps; by default, a tenth of the training.
    decay_start : `float`, optional (default = `None`)
        When the decay starts, in batches of the original size: a step counts as `num_replicas`.
        By default, after half of the training.
    decay_end : `float`, optional (default = `None`)
        When the decay ends, in the same unit; by default, at the end of the training.

    # Raises

    `ConfigurationError`
        If a value is out of range, `decay_end` is not greater than `decay_start`, the warmup ends
        after the decay starts, or a default is needed but the data loader does not know the number
        of batches per epoch.

    # Example

    ```json
    "learning_rate_scheduler": {"type": "large_batch", "num_replicas": 4}
    ```
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        num_replicas: int,
        warmup_steps: Optional[float] = None,
        decay_start: Optional[float] = None,
        decay_end: Optional[float] = None,
        num_epochs: Optional[int] = None,
        num_steps_per_epoch: Optional[int] = None,
    ) -> None:
        check_bounds({f"{_KEY}.num_replicas": num_replicas}, at_least=1)
        if warmup_steps is None or decay_start is None or decay_end is None:
            if not num_epochs or not num_steps_per_epoch:
                raise ConfigurationError(
                    f"{_KEY}: the length of the training is unknown, because the data loader "
                    "streams the text. Set `data_loader.batches_per_epoch`, or `warmup_steps`, "
                    "`decay_start` and `decay_end` here."
                )
            # Otherwise, a process with more batches would have other learning rates.
            num_steps_per_epoch = dist_reduce(num_steps_per_epoch, torch.distributed.ReduceOp.MIN)
            # In batches of the original size.
            length = num_replicas * num_epochs * num_steps_per_epoch
            if warmup_steps is None:
                warmup_steps = length / 10 / num_replicas**2
            decay_start = length / 2 if decay_start is None else decay_start
            decay_end = length if decay_end is None else decay_end
        check_bounds({f"{_KEY}.warmup_steps": warmup_steps}, at_least=0, but_not=0)
        check_bounds({f"{_KEY}.decay_start": decay_start}, at_least=0)
        if not decay_end > decay_start:
            raise ConfigurationError(
                f"{_KEY}.decay_end: {decay_end}; it must be greater than `decay_start`, "
                f"{decay_start}"
            )
        warmup, start = num_replicas * warmup_steps, decay_start / num_replicas
        if num_replicas > 1 and warmup > start:
            raise ConfigurationError(
                f"{_KEY}.warmup_steps: {warmup_steps:g}; the warmup would take "
                f"`num_replicas` times as many steps, {warmup:g}, but the decay starts "
                f"at step {start:g}. Lower it, or leave it and `decay_start` out"
            )
        super().__init__(optimizer)
        self.num_replicas = num_replicas
        self.warmup_steps = warmup_steps
        self.decay_start = decay_start
        self.decay_end = decay_end
        logger.info(
            "The learning rate rises to %g × lr until step %d, and falls to lr / 2 from step %d to "
            "step %d.",
            num_replicas,
            warmup,
            start,
            decay_end / num_replicas,
        )

    def step(self, metric: float = None) -> None:
        # The schedule depends on steps only, not on epochs.
        pass

    def step_batch(self, batch_num_total: int) -> None:  # type: ignore[override]
        """
        Sets the learning rate of the next step. AllenNLP's trainer calls this before each step,
        with the number of that step, starting from 1.
        """
        self.last_epoch = batch_num_total
        for group, value in zip(self.optimizer.param_groups, self.get_values()):
            group[self.param_group_field] = value

    def get_values(self) -> List[float]:
        """The learning rates of the parameter groups at the current step."""
        return [base * self._factor(self.last_epoch) for base in self.base_values]

    def _factor(self, step: int) -> float:
        n = self.num_replicas
        warmup = 1 + step * (n - 1) / (n * self.warmup_steps)
        elapsed = (n * step - self.decay_start) / (self.decay_end - self.decay_start)
        return max(0.5, min(warmup, n * (2 * n) ** -max(0.0, elapsed)))
