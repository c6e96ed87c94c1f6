"""What tests of the CPU and GPU kernels share."""

import torch

# What each implementation supports. Triton's interpreter, which runs where there is no GPU,
# truncates to bfloat16 where a GPU rounds.
SUPPORTED = [
    *(("torch", dtype) for dtype in (torch.float32, torch.bfloat16, torch.float16)),
    *(("native", dtype) for dtype in (torch.float32, torch.bfloat16)),
    *(("triton", dtype) for dtype in (torch.float32, torch.float16)),
    *([("triton", torch.bfloat16)] if torch.cuda.is_available() else []),
]


def batch_sizes_of(lengths):
    """For each step, how many sentences are so long. The lengths descend."""
    return [sum(length > step for length in lengths) for step in range(max(lengths, default=0))]


def rows_of(sentence, length, batch_sizes):
    """Where the words of a sentence are, when step by step is how they are laid out."""
    return [sum(batch_sizes[:step]) + sentence for step in range(length)]


def loss_of(outputs):
    return (outputs * torch.linspace(-1, 1, outputs.size(-1), device=outputs.device)).sum()
