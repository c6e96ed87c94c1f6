from allennlp_semfit.training.fused_adam import FusedAdam
from allennlp_semfit.training.large_batch import LargeBatchLearningRateScheduler
from allennlp_semfit.training.resumable import (
    ResumableCheckpointer,
    ResumableTrainer,
    ResumableTrainModel,
)
from allennlp_semfit.training.token_averages import BaselineCosine, TokenAverage

__all__ = [
    "BaselineCosine",
    "FusedAdam",
    "LargeBatchLearningRateScheduler",
    "ResumableCheckpointer",
    "ResumableTrainModel",
    "ResumableTrainer",
    "TokenAverage",
]
