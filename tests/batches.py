"""What a batch of a `WordVectorIndexer` holds."""

from typing import Dict

import torch


def with_all_vectors(tensors: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    """As those of a `TextField`, with the vector of each word."""
    if "indices" not in tensors:
        return tensors
    indices = tensors["indices"]
    return {"vectors": tensors["vectors"][indices], "word_mask": indices != 0}
