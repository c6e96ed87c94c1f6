import time

from allennlp.common.checks import ConfigurationError

__all__ = ["TrainingClock", "learning_rate_factor"]


class TrainingClock:
    """
    Times a training of a given length, which includes its preparation, such as building a
    vocabulary. It runs as soon as it is created, and counts processor time, of all threads, so that
    other processes hardly matter.

    # Parameters

    seconds : `float`
        The time in total.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begin = time.process_time()
        self._preparation_seconds = 0.0

    def elapsed(self) -> float:
        """The seconds since the clock was created."""
        return time.process_time() - self._begin

    def end_preparation(self) -> None:
        """
        # Raises

        `ConfigurationError`
            If no time is left.
        """
        self._preparation_seconds = self.elapsed()
        if self._preparation_seconds >= self.seconds:
            raise ConfigurationError(
                f"the preparation took {self._preparation_seconds:.0f} of {self.seconds:.0f} "
                "seconds; give more --minutes or less text"
            )

    def progress(self) -> float:
        """The elapsed fraction of the time after the preparation: at least 1 when it is over."""
        training_seconds = self.seconds - self._preparation_seconds
        return (self.elapsed() - self._preparation_seconds) / training_seconds


def learning_rate_factor(progress: float, warmup: float = 0.06) -> float:
    """
    A linear warm-up from 0 to 1, then a linear decay to 0 at the end.

    # Parameters

    progress : `float`
        The elapsed fraction of the training.
    warmup : `float`, optional (default = `0.06`)
        The fraction of the training for the warm-up: RoBERTa's, of its 500,000 updates.
    """
    if progress < warmup:
        return progress / warmup
    return max(0.0, (1.0 - progress) / (1.0 - warmup))
