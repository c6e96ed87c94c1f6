import torch
from allennlp.common.checks import ConfigurationError

__all__ = ["check_right_padding"]

_MESSAGE = (
    "A mask has padding before or between the words of a sentence, but it must follow the last "
    "word. Pad on the right, as AllenNLP's own fields do."
)


def check_right_padding(mask: torch.BoolTensor) -> None:
    """
    Raises a `ConfigurationError` if a word follows padding in a mask of shape
    `(batch_size, length)`. On a GPU, for which it does not wait, PyTorch stops the run with the
    same message.
    """
    is_right = (mask[:, 1:] <= mask[:, :-1]).all()
    if mask.is_cuda:
        torch._assert_async(is_right, _MESSAGE)
    elif not is_right:
        raise ConfigurationError(_MESSAGE)
