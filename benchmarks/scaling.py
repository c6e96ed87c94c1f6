"""
How the training time of output layers grows with the vocabulary and the batch.

    python -m benchmarks.scaling

A training step of an output layer alone, over context vectors of 512 dimensions: forward pass,
backward pass and an update with plain SGD. Layers that do not fit `--memory-gb` are left out.
"""

import logging
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from benchmarks.output_layers import (
    FASTTEXT_DIM,
    OUTPUT_LAYERS,
    build_output_layer,
    fixed_bytes,
    targets_for,
)
from benchmarks.reporting import Lines, argument_parser, parse_arguments, report
from benchmarks.synthetic_words import sample_classes
from benchmarks.timing import time_interleaved

logger = logging.getLogger("benchmarks.scaling")

PARTS = ["vocabulary", "batch"]


def output_layer_step(
    head: LmHead,
    num_classes: int,
    input_dim: int,
    num_words: int,
    device: torch.device,
    vectors: Optional[torch.Tensor],
) -> Callable[[], None]:
    optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
    classes = sample_classes(num_classes, num_words)
    context = torch.randn(num_words, input_dim, device=device, requires_grad=True)

    def step() -> None:
        targets = targets_for(head, classes, vectors, device)
        (head(context, targets) / num_words).backward()
        optimizer.step()
        # Free the gradients, so that only one candidate at a time has any.
        optimizer.zero_grad()
        context.grad = None

    return step


def minimum_bytes(layer: str, num_classes: int, input_dim: int, num_words: int) -> int:
    """The size of the parameters and of the logits of all classes, if any, and their gradients."""
    scored = {"softmax": num_classes, "cut-cross-entropy": num_classes, "contrastive": 4096}
    scores = num_words * min(scored.get(layer, 0), num_classes)
    return fixed_bytes(layer, num_classes, input_dim) + 3 * 4 * scores


def compare_layers(args: Any, x_label: str, sizes: Dict[int, Tuple[int, int]], out: Path) -> None:
    """Times the output layers at each x. `sizes` has its vocabulary size and words per batch."""
    vectors = torch.randn(max(num_classes for num_classes, _ in sizes.values()), FASTTEXT_DIM)
    # Batches of different sizes share a head to save memory.
    heads: Dict[Tuple[str, int], LmHead] = {}
    candidates: Dict[str, Callable[[], Any]] = {}
    points: Dict[str, Tuple[str, float]] = {}
    left_out: Dict[str, int] = {}
    for x, (num_classes, num_words) in sizes.items():
        for layer in args.layers:
            name = f"{layer}, {x:,}"
            least = minimum_bytes(layer, num_classes, args.input_dim, num_words)
            if least > args.memory_gb * 1e9:
                left_out[name] = least
                continue
            logger.info("Building %s", name)
            if (layer, num_classes) not in heads:
                head = build_output_layer(layer, num_classes, args.input_dim)
                heads[layer, num_classes] = head.to(args.device)
            candidates[name] = output_layer_step(
                heads[layer, num_classes],
                num_classes,
                args.input_dim,
                num_words,
                args.device,
                vectors,
            )
            points[name] = (layer, x)
    timings = time_interleaved(candidates, repeats=args.repeats, device=args.device)
    report(
        timings,
        next(iter(timings)),
        out,
        device=args.device,
        lines=Lines(x_label, points),
        input_dim=args.input_dim,
        optimizer="SGD",
        sizes={f"{x:,}": {"vocabulary": v, "words": w} for x, (v, w) in sizes.items()},
        left_out={name: f"{least / 1e9:.1f} GB" for name, least in left_out.items()},
    )


def main() -> None:
    parser = argument_parser("scaling", __doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--layers", nargs="+", choices=OUTPUT_LAYERS, default=OUTPUT_LAYERS)
    parser.add_argument("--input-dim", type=int, default=512, help="dimension of the contexts")
    parser.add_argument(
        "--vocabularies",
        type=int,
        nargs="+",
        default=[10_000, 40_000, 200_000, 800_000, 2_000_000],
        help="words",
    )
    parser.add_argument("--vocabulary", type=int, default=800_000, help="words, for `batch`")
    parser.add_argument(
        "--batch-sizes", type=int, nargs="+", default=[4, 16, 64], help="sentences, for `batch`"
    )
    parser.add_argument("--batch-size", type=int, default=16, help="sentences, for `vocabulary`")
    parser.add_argument("--num-words", type=int, default=20, help="words per sentence")
    parser.add_argument(
        "--memory-gb", type=float, default=4.5, help="memory budget of a layer and its step"
    )
    args = parse_arguments(parser)
    torch.manual_seed(1)

    name, dash, device = args.out.stem.partition("-")
    out = {part: args.out.with_name(f"{name}_{part}{dash}{device}.json") for part in PARTS}
    num_words = args.batch_size * args.num_words
    if "vocabulary" in args.parts:
        sizes = {size: (size, num_words) for size in args.vocabularies}
        compare_layers(args, "words in the vocabulary", sizes, out["vocabulary"])
    if "batch" in args.parts:
        words = [size * args.num_words for size in args.batch_sizes]
        sizes = {size: (args.vocabulary, size) for size in words}
        compare_layers(args, "words in the batch", sizes, out["batch"])


if __name__ == "__main__":
    main()
