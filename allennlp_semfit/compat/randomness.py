"""
The random numbers of a training that resumes: of dropout, samples and the order of batches.

AllenNLP reads all batches again from the beginning, but does not repeat what validations and the
model have drawn.
"""

import random
from typing import Any, Callable, Optional

import numpy
import torch
from allennlp.training.trainer import TrainerCheckpoint

# With attributes that AllenNLP's classes lack.
_Trainer = Any
_Checkpointer = Any

# The keys in the training state.
_RANDOM = "random"
_SCALER = "scaler"


def begin_epoch(self: _Trainer, epoch: int) -> None:
    """Notes what decides the order of batches, or repeats that of the first run."""
    if self._distributed:
        # The checkpoint has that of the first process only.
        return
    if epoch < len(self._restored_states):
        random.setstate(self._restored_states[epoch])
    self._states_of_epochs[epoch:] = [random.getstate()]


def begin_batch(self: _Trainer) -> None:
    """Before the first batch after a resumption, sets what the model draws from."""
    if self._generators is not None:
        numpy.random.set_state(self._generators["numpy"])
        torch.set_rng_state(self._generators["torch"])
        if self._generators["cuda"] is not None:
            torch.cuda.set_rng_state(self._generators["cuda"], self.cuda_device)
        self._generators = None


def get_checkpoint_state(get: Callable, self: _Trainer) -> Optional[TrainerCheckpoint]:
    checkpoint: Optional[TrainerCheckpoint] = get(self)
    if checkpoint is None:
        return None
    if self._scaler is not None:
        checkpoint.trainer_state[_SCALER] = self._scaler.state_dict()
    if not self._distributed:
        is_cuda = self.cuda_device.type == "cuda"
        epochs = list(self._states_of_epochs)
        if len(epochs) == self._epochs_completed:
            epochs.append(random.getstate())
        checkpoint.trainer_state[_RANDOM] = {
            "epochs": epochs,
            "numpy": numpy.random.get_state(),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(self.cuda_device) if is_cuda else None,
        }
    return checkpoint


def note_states(self: _Checkpointer, checkpoint: TrainerCheckpoint) -> None:
    """Keeps the states of a loaded checkpoint for `restore_states`."""
    self._states = {key: checkpoint.trainer_state.get(key) for key in (_RANDOM, _SCALER)}


def restore_states(self: _Trainer) -> None:
    """Of a loaded checkpoint, if it has any. Those of AllenNLP have none."""
    states = getattr(self._checkpointer, "_states", {})
    if states.get(_SCALER) and self._scaler is not None:
        self._scaler.load_state_dict(states[_SCALER])
    if states.get(_RANDOM) and not self._distributed:
        self._restored_states = states[_RANDOM]["epochs"]
        self._generators = states[_RANDOM]
