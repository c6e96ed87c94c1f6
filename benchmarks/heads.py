"""
Table 5 of Li et al. 2019: the training speed and memory of output layers, by vocabulary size. The
model is a unidirectional LSTM with 2,048 units over fixed vectors of 300 dimensions.

    python -m benchmarks.heads

With `--alone`, the model is the output layer only, over random vectors of `--hidden-dim`.

A step is the forward pass, the backward pass and an update with plain SGD, the cheapest optimizer
per parameter, which favors output layers with many parameters.

`seconds per million words` is measured with the `timed batch`: the largest batch within the memory
budget, but at most `--max-words`. The largest batch is extrapolated from the peak memory of two
smaller ones. Layers whose parameters, scores and gradients exceed the budget are left out.
"""

import logging
import statistics
from itertools import product
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from benchmarks.output_layers import (
    FASTTEXT_DIM,
    OUTPUT_LAYERS,
    build_output_layer,
    least_bytes,
    targets_for,
)
from benchmarks.peak_memory import MakeStep, import_in_fork_server, measure_peak_memory
from benchmarks.reporting import argument_parser, parse_arguments, report, time_interleaved
from benchmarks.synthetic import sample_classes

logger = logging.getLogger("benchmarks.heads")


class SpeedTableModel(torch.nn.Module):
    """The language model of Table 5, or its head alone."""

    def __init__(self, layer: str, num_classes: int, hidden_dim: int, alone: bool = False) -> None:
        super().__init__()
        self.input_dim = hidden_dim if alone else FASTTEXT_DIM
        self.lstm = None if alone else torch.nn.LSTM(FASTTEXT_DIM, hidden_dim, batch_first=True)
        self.head = build_output_layer(layer, num_classes, hidden_dim)

    def forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        states = inputs if self.lstm is None else self.lstm(inputs)[0]
        loss: torch.Tensor = self.head(states.flatten(0, 1), targets)
        return loss / len(targets)


def training_step(
    model: SpeedTableModel,
    head: LmHead,
    num_classes: int,
    num_words: int,
    device: torch.device,
    vectors: Optional[torch.Tensor] = None,
) -> MakeStep:
    """A function from the number of sentences in a batch to a training step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def make_step(batch_size: int) -> Callable[[], None]:
        inputs = torch.randn(batch_size, num_words, model.input_dim, device=device)
        # Compute the gradients that layers below would need.
        inputs.requires_grad_(model.lstm is None)
        classes = sample_classes(num_classes, batch_size * num_words)

        def step() -> None:
            targets = targets_for(head, classes, vectors, device)
            model(inputs, targets).backward()
            optimizer.step()
            # Free the gradients, so that only one candidate at a time has any.
            optimizer.zero_grad()
            inputs.grad = None

        return step

    return make_step


def build(
    layer: str, num_classes: int, hidden_dim: int, alone: bool, num_words: int, device: torch.device
) -> MakeStep:
    model = SpeedTableModel(layer, num_classes, hidden_dim, alone).to(device)
    return training_step(model, model.head, num_classes, num_words, device)


def main() -> None:
    parser = argument_parser("heads", __doc__)
    parser.add_argument(
        "--vocabularies", type=int, nargs="+", default=[40_000, 800_000, 2_000_000], help="words"
    )
    parser.add_argument("--alone", action="store_true", help="time the output layers alone")
    parser.add_argument(
        "--layers",
        nargs="+",
        choices=OUTPUT_LAYERS,
        help="default: all; contrastive only with --alone",
    )
    parser.add_argument("--hidden-dim", type=int, default=2048)
    parser.add_argument("--batch-size", type=int, default=16, help="sentences")
    parser.add_argument("--num-words", type=int, default=20, help="words per sentence")
    parser.add_argument(
        "--memory-gb", type=float, default=8.0, help="memory budget for model and batch"
    )
    parser.add_argument(
        "--max-words",
        type=int,
        help="maximum words per batch; default: 1,280 on a CPU, unlimited on a GPU",
    )
    args = parse_arguments(parser)
    # The contrastive head is not in Table 5.
    compared = [layer for layer in OUTPUT_LAYERS if args.alone or layer != "contrastive"]
    args.layers = args.layers or compared
    device = args.device
    max_batch: Optional[int] = None
    if args.max_words is not None or device.type == "cpu":
        max_batch = max((args.max_words or 1280) // args.num_words, args.batch_size)

    uses = {}
    fitting: Dict[str, Tuple[str, int]] = {}
    left_out: Dict[str, str] = {}
    for num_classes, layer in product(args.vocabularies, args.layers):
        name = f"{layer}, {num_classes:,}"
        num_words = args.batch_size * args.num_words
        least = least_bytes(layer, num_classes, args.hidden_dim, num_words)
        if least > args.memory_gb * 1e9:
            left_out[name] = f"{least / 1e9:.1f} GB"
            continue
        logger.info("Measuring the memory of %s", name)
        uses[name] = measure_peak_memory(
            build,
            (layer, num_classes, args.hidden_dim, args.alone, args.num_words, device),
            warmup=(layer, 100, 8, args.alone, args.num_words, device),
            batch_sizes=(args.batch_size, 3 * args.batch_size),
            budget=args.memory_gb * 1e9,
            device=device,
            max_checked=max_batch,
        )
        fitting[name] = (layer, num_classes)
    vectors = torch.randn(max(args.vocabularies), FASTTEXT_DIM)
    candidates: Dict[str, Callable[[], Any]] = {}
    larger: Dict[str, Callable[[], Any]] = {}
    measures: Dict[str, Dict[str, float]] = {}
    for name, (layer, num_classes) in fitting.items():
        model = SpeedTableModel(layer, num_classes, args.hidden_dim, args.alone).to(device)
        make_step = training_step(model, model.head, num_classes, args.num_words, device, vectors)
        candidates[name] = make_step(args.batch_size)
        peaks, largest = uses[name]
        measures[name] = {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "peak_memory_bytes": peaks[args.batch_size],
            "largest_batch": largest,
        }
        timed = largest if max_batch is None else min(largest, max_batch)
        measures[name]["timed_batch"] = max(timed, args.batch_size)
        if timed > args.batch_size:
            larger[f"{name}, larger"] = make_step(timed)

    timings = time_interleaved({**candidates, **larger}, repeats=args.repeats, device=device)
    for name, row in measures.items():
        seconds = statistics.median(timings.get(f"{name}, larger", timings[name]))
        row["seconds_per_million_words"] = seconds * 1e6 / (row["timed_batch"] * args.num_words)
    report(
        args,
        {name: timings[name] for name in candidates},
        next(iter(candidates)),
        measures,
        optimizer="SGD",
        larger_seconds={name: timings[name] for name in larger},
        memory={name: peaks for name, (peaks, _) in uses.items()},
        left_out=left_out,
    )


if __name__ == "__main__":
    import_in_fork_server()
    main()
