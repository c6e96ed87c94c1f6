"""
The cost of the `semfit` head in a training step of ELMo-S at the paper's size: the whole step and
the head alone.

    python -m benchmarks.semfit_head

A step is the forward pass, the backward pass, gradient clipping and Adam. The head alone is its
forward and backward pass in both directions.
"""

import statistics
from typing import Any, Callable, Dict

import torch
from allennlp.nn.util import get_text_field_mask

from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from benchmarks.models import SIZES, build_batch, build_language_model, training_step
from benchmarks.reporting import argument_parser, parse_arguments, report, time_interleaved

# The number of different words, which the model does not depend on.
NUM_CLASSES = 800_000


def head_alone(model: BidirectionalLm, source: Dict[str, Any]) -> Callable[[], None]:
    """The forward and backward pass of the head in both directions, from random contexts."""
    head = model._head
    vectors = model._text_field_embedder(source)
    right = get_text_field_mask(source)[:, 1:].nonzero(as_tuple=True)
    right, left = (right[0], right[1] + 1), right
    shape = (len(left[0]), head.input_dim)
    forward_states, backward_states = (
        torch.randn(shape, device=vectors.device, requires_grad=True) for _ in range(2)
    )

    def run() -> None:
        targets = head.prepare_targets(source, vectors)
        (head(forward_states, targets[right]) + head(backward_states, targets[left])).backward()
        forward_states.grad = backward_states.grad = None
        head.zero_grad()

    return run


def main() -> None:
    parser = argument_parser("semfit_head", __doc__)
    parser.add_argument("--batch-size", type=int, default=16, help="sentences")
    parser.add_argument("--num-words", type=int, default=20, help="words per sentence")
    parser.add_argument("--size", choices=SIZES, default="paper", help="size of the model")
    args = parse_arguments(parser)
    device = args.device
    torch.manual_seed(1)
    model = build_language_model("elmo_semfit", NUM_CLASSES, args.size).to(device)
    make_step = training_step("elmo_semfit", model, args.num_words, NUM_CLASSES, device)
    source = build_batch(model, args.batch_size, args.num_words, NUM_CLASSES, device)
    steps = {"step": make_step(args.batch_size), "head alone": head_alone(model, source)}
    timings = time_interleaved(steps, repeats=args.repeats, device=device)
    medians = {name: statistics.median(seconds) for name, seconds in timings.items()}
    shares = {name: {"share_of_step": each / medians["step"]} for name, each in medians.items()}
    report(args, timings, "step", shares)


if __name__ == "__main__":
    main()
