"""
Table 5 of Li et al. 2019: what the output layer does to the cost of a language model, by the size
of the vocabulary. The model reads fixed vectors of 300 dimensions by an LSTM of one direction with
2,048 units, and all layers on top of it predict the same words.

    python -m benchmarks.heads

A step is the forward pass, the backward pass and an update by plain SGD, which costs the least of
all optimizers for a parameter, so the most favourable to the layers that have many.

`seconds per million words` are those of steps with the `timed batch`: the largest that fits the
memory budget, or `--max-words` if that is smaller, as it is on a CPU. The largest batch is on the
line through the peaks of two smaller ones. A layer whose parameters and gradients alone exceed the
budget is left out.
"""

import argparse
import logging
import statistics
from dataclasses import asdict
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from benchmarks.memory import MemoryUse, StepOf, memory_use
from benchmarks.output_layers import (
    FASTTEXT_DIM,
    OUTPUT_LAYERS,
    build_output_layer,
    fixed_bytes,
    targets_for,
)
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.timing import time_in_turn
from benchmarks.words import sample_classes

logger = logging.getLogger("benchmarks.heads")


class SpeedTableModel(torch.nn.Module):
    """The model of Table 5."""

    def __init__(self, layer: str, num_classes: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(FASTTEXT_DIM, hidden_dim, batch_first=True)
        self.head = build_output_layer(layer, num_classes, hidden_dim)

    def forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(inputs)
        loss: torch.Tensor = self.head(states.flatten(0, 1), targets)
        return loss / len(targets)


def training_step(
    model: torch.nn.Module,
    layer: str,
    num_classes: int,
    num_words: int,
    device: torch.device,
    vectors: Optional[torch.Tensor] = None,
) -> StepOf:
    """What makes a training step for a batch of so many sentences of `num_words` words."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step_of(batch_size: int) -> Callable[[], None]:
        inputs = torch.randn(batch_size, num_words, FASTTEXT_DIM, device=device)
        classes = sample_classes(num_classes, batch_size * num_words)

        def step() -> None:
            targets = targets_for(layer, classes, vectors, device)
            model(inputs, targets).backward()
            optimizer.step()
            # At once, so that the gradients of one candidate at a time take memory.
            optimizer.zero_grad()

        return step

    return step_of


def build(
    layer: str, num_classes: int, hidden_dim: int, num_words: int, device: torch.device
) -> StepOf:
    model = SpeedTableModel(layer, num_classes, hidden_dim).to(device)
    return training_step(model, layer, num_classes, num_words, device)


def measures_of(model: torch.nn.Module, use: MemoryUse, batch_size: int) -> Dict[str, float]:
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_memory_bytes": use.peaks[batch_size],
        "largest_batch": use.largest_batch,
    }


def measure_memory(
    args: argparse.Namespace, max_batch: Optional[int]
) -> Tuple[Dict[str, MemoryUse], Dict[str, Tuple[str, int]], Dict[str, str]]:
    """Of each layer with each vocabulary that fits, and which these are; and why others do not."""
    uses: Dict[str, MemoryUse] = {}
    fitting: Dict[str, Tuple[str, int]] = {}
    left_out: Dict[str, str] = {}
    for num_classes in args.vocabularies:
        for layer in args.layers:
            name = f"{layer}, {num_classes:,}"
            least = fixed_bytes(layer, num_classes, args.hidden_dim)
            if least > args.memory_gb * 1e9:
                left_out[name] = f"{least / 1e9:.1f} GB of parameters and gradients"
                continue
            logger.info("Measuring the memory of %s", name)
            fitting[name] = (layer, num_classes)
            uses[name] = memory_use(
                build,
                (layer, num_classes, args.hidden_dim, args.num_words, args.device),
                warmup=(layer, 100, 8, args.num_words, args.device),
                batch_sizes=(args.batch_size, 3 * args.batch_size),
                budget=args.memory_gb * 1e9,
                device=args.device,
                max_checked=max_batch,
            )
    return uses, fitting, left_out


def main() -> None:
    parser = argument_parser("heads", __doc__)
    parser.add_argument(
        "--vocabularies", type=int, nargs="+", default=[40_000, 800_000, 2_000_000], help="words"
    )
    parser.add_argument("--layers", nargs="+", choices=OUTPUT_LAYERS, default=OUTPUT_LAYERS)
    parser.add_argument("--hidden-dim", type=int, default=2048)
    parser.add_argument("--batch-size", type=int, default=16, help="sentences")
    parser.add_argument("--num-words", type=int, default=20, help="of a sentence")
    parser.add_argument("--memory-gb", type=float, default=8.0, help="for model and batch")
    parser.add_argument(
        "--max-words", type=int, help="of a batch; default: 1,280 on a CPU, else what fits"
    )
    args = parse_arguments(parser)
    device = args.device
    max_batch: Optional[int] = None
    if args.max_words is not None or device.type == "cpu":
        max_batch = max((args.max_words or 1280) // args.num_words, args.batch_size)

    uses, fitting, left_out = measure_memory(args, max_batch)
    vectors = torch.randn(max(args.vocabularies), FASTTEXT_DIM)
    candidates: Dict[str, Callable[[], Any]] = {}
    larger: Dict[str, Callable[[], Any]] = {}
    measures: Dict[str, Dict[str, float]] = {}
    for name, (layer, num_classes) in fitting.items():
        logger.info("Building %s", name)
        model = SpeedTableModel(layer, num_classes, args.hidden_dim).to(device)
        step_of = training_step(model, layer, num_classes, args.num_words, device, vectors)
        candidates[name] = step_of(args.batch_size)
        largest = uses[name].largest_batch
        measures[name] = {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "peak_memory_bytes": uses[name].peaks[args.batch_size],
            "largest_batch": largest,
        }
        timed = largest if max_batch is None else min(largest, max_batch)
        measures[name]["timed_batch"] = max(timed, args.batch_size)
        if timed > args.batch_size:
            larger[f"{name}, larger"] = step_of(timed)

    timings = time_in_turn({**candidates, **larger}, repeats=args.repeats, device=device)
    for name, row in measures.items():
        seconds = statistics.median(timings.get(f"{name}, larger", timings[name]))
        row["seconds_per_million_words"] = seconds * 1e6 / (row["timed_batch"] * args.num_words)
    report(
        {name: timings[name] for name in candidates},
        next(iter(candidates)),
        args.out,
        device=device,
        measures=measures,
        hidden_dim=args.hidden_dim,
        batch_size=args.batch_size,
        num_words=args.num_words,
        optimizer="SGD",
        memory_budget_gb=args.memory_gb,
        larger_seconds={name: timings[name] for name in larger},
        memory={name: asdict(use) for name, use in uses.items()},
        left_out=left_out,
    )


if __name__ == "__main__":
    main()
