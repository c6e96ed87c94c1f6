"""The tokens before and after the sentences of a language model."""

from typing import Any, Dict, Sequence

import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from torch.nn.functional import pad

__all__ = ["BoundaryTokens", "add_boundary_tokens"]


class BoundaryTokens(torch.nn.Module):
    """
    The tensors of the tokens on one side of a sentence, as buffers. Vectors are part of the state
    dict, so that a trained task does not need the fastText file for them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_known = False

    def index(self, tokens: Sequence[str], indexer: TokenIndexer, vocab: Vocabulary) -> None:
        # An extra token, because not every indexer gives the right shapes for an empty list.
        indexed = indexer.tokens_to_indices([Token(token) for token in (".", *tokens)], vocab)
        tensors = indexer.as_padded_tensor_dict(indexed, indexer.get_padding_lengths(indexed))
        for name, tensor in tensors.items():
            # A mask is always `True`.
            if tensor.dtype != torch.bool:
                # The rest is the padding of `token_min_padding_length`.
                boundary = tensor[1 : 1 + len(tokens)].clone()
                self.register_buffer(name, boundary, persistent=tensor.is_floating_point())
        self.is_known = True

    def __getitem__(self, name: str) -> torch.Tensor:
        tensor = self._buffers.get(name)
        return torch.ones(self.size, dtype=torch.bool) if tensor is None else tensor

    @property
    def size(self) -> int:
        """The number of tokens."""
        return next(iter(self.buffers())).size(0)

    def _load_from_state_dict(
        self, state_dict: Dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        if not self.is_known:
            for key in [key for key in state_dict if key.startswith(prefix)]:
                self.register_buffer(key[len(prefix) :], torch.empty_like(state_dict[key]))
                self.is_known = True
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def add_boundary_tokens(
    tensor: torch.Tensor, start: torch.Tensor, end: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """
    Adds boundary tokens to sentences: `start` before the first word, `end` right after the last.
    Pads the characters of words to the same number.

    # Parameters

    tensor : `torch.Tensor`
        Shape `(batch_size, length, ...)`. Without words, it may lack further dimensions.
    start, end : `torch.Tensor`
        Shape `(num_tokens, ...)`.
    lengths : `torch.Tensor`
        The number of words in each sentence. Shape `(batch_size, 1)`.
    """
    if not tensor.size(1):
        tensor = tensor.new_zeros(tensor.size(0), 0, *start.size()[1:])
    widths = [part.size(-1) for part in (tensor, start, end)]
    if tensor.dim() > 2 and len({*widths}) > 1:
        tensor, start, end = (
            pad(part, (0, max(widths) - part.size(-1))) for part in (tensor, start, end)
        )
    batch_size, _, *dims = tensor.size()

    def each(boundary: torch.Tensor) -> torch.Tensor:
        # Loaded from a state dict, it may be on another device.
        return boundary.to(tensor).expand(batch_size, *boundary.size())

    bounded = torch.cat([each(start), tensor, torch.zeros_like(each(end))], dim=1)
    positions = start.size(0) + lengths + torch.arange(end.size(0), device=lengths.device)
    positions = positions.view(batch_size, end.size(0), *(1 for _ in dims))
    return bounded.scatter(1, positions.expand_as(each(end)), each(end))
