from argparse import Namespace

from allennlp.training.trainer import TrainerCheckpoint

from allennlp_semfit.compat import randomness


class Scaler:
    """A `torch.cuda.amp.GradScaler` without a GPU."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def state_dict(self):
        return {"scale": self.scale}

    def load_state_dict(self, state):
        self.scale = state["scale"]


def test_the_scale_of_the_loss_is_resumed():
    trainer = Namespace(_distributed=True, _scaler=Scaler(128.0))
    checkpoint = randomness.get_checkpoint_state(lambda _: TrainerCheckpoint({}, {}), trainer)
    checkpointer = Namespace()
    randomness.note_states(checkpointer, checkpoint)
    resumed = Namespace(_distributed=True, _scaler=Scaler(65_536.0), _checkpointer=checkpointer)
    randomness.restore_states(resumed)
    assert resumed._scaler.scale == 128.0
    # A checkpoint of AllenNLP has none.
    randomness.note_states(checkpointer, TrainerCheckpoint({}, {}))
    randomness.restore_states(resumed)
    assert resumed._scaler.scale == 128.0
