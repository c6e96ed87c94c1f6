from typing import List

import torch
from allennlp.common.checks import ConfigurationError

__all__ = ["FrequencyOrderCheck"]

_NUM_TARGETS = 10_000
# Measured: 0.15 to 0.25 for vocabularies sorted by frequency, 0.43 to 0.51 for alphabetical or
# random order.
_MAX_MEAN_RANK = 0.35


class FrequencyOrderCheck:
    """
    Checks on the first 10,000 targets that the classes are sorted by decreasing frequency. An
    adaptive softmax over unsorted classes works, but is slow. `name` is that of the vocabulary, for
    the error message.

    The distinct classes are ranked from 0, the first, to 1, the last. If they are sorted, low ranks
    are the most frequent, so the mean rank of the targets is far below 0.5.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._targets: List[torch.Tensor] = []
        self._is_done = False

    def __call__(self, targets: torch.Tensor) -> None:
        """Checks the classes of a batch of running text, shape `(N,)`."""
        if self._is_done:
            return
        self._targets.append(targets.detach().cpu())
        if sum(map(len, self._targets)) < _NUM_TARGETS:
            return
        _, ranks = torch.unique(torch.cat(self._targets), return_inverse=True)
        mean_rank = (ranks.double().mean() / ranks.max().clamp_min(1)).item()
        self._is_done = True
        self._targets = []
        if mean_rank > _MAX_MEAN_RANK:
            raise ConfigurationError(
                f"{self._name} is not sorted by decreasing frequency: the mean rank of the words "
                f"of the text is {mean_rank:.0%} of the vocabulary size, where 15 to 25% is usual "
                "for a sorted one. `allennlp count-vocabulary` writes a sorted vocabulary."
            )
