"""
Table 2 of Li et al. 2019: training ELMo, ELMo-A and ELMo-S, at the paper's sizes.

    python -m benchmarks.models

ELMo is what people train today: a character CNN, AllenNLP's own `ElmoLstm` and a sampled softmax
of 8,192 out of 800,000 words. With our contextualizer in the place of its LSTM, it is a row of its
own: what then remains is due to the input and the output layer. All have single precision and
dense gradients, as several GPUs need them. A step is the forward pass, the backward pass, clipping
of the gradient and Adam.

On one device ELMo may have sparse gradients, and be faster. It does not fit beside the others here:

    python -m benchmarks.models --contestants "elmo, sparse gradients" elmo_semfit --out …

Then, as in the paper, each with the largest batch that fits `--memory-gb`: it is on the line
through the peaks of two smaller batches, and its seconds are on the line through the times of two.
From these steps follows what several devices would do, by the formula in `benchmarks/exchange.py`:
a prediction, not a measurement.
"""

import argparse
import json
import logging
import statistics
from dataclasses import asdict
from typing import Any, Callable, Dict, Sequence

import torch

from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from benchmarks.exchange import PCIE_3, predictions
from benchmarks.language_models import (
    LANGUAGE_MODELS,
    build_language_model,
    build_step,
    training_step,
)
from benchmarks.memory import MemoryUse, memory_use
from benchmarks.reporting import argument_parser, parse_arguments, report, table_of
from benchmarks.timing import Timings, on_the_line, time_in_turn

logger = logging.getLogger("benchmarks.models")

# Of the model that takes a step before the memory is measured.
SMALL = {
    "hidden_dim": 8,
    "cell_size": 8,
    "cutoffs": [20, 60],
    "div_value": 2.0,
    "num_samples": 30,
    "filters": [[1, 4]],
    "num_highway": 1,
    "character_cnn_dim": 8,
}


def build_all(
    names: Sequence[str], num_classes: int, sizes: Dict[str, Any], device: torch.device
) -> Dict[str, BidirectionalLm]:
    """The two ELMos share their input and output, which would not fit into memory twice."""
    models: Dict[str, BidirectionalLm] = {}
    for name in names:
        logger.info("Building %s", name)
        is_variant = name == "elmo, our contextualizer" and "elmo" in models
        model = build_language_model(
            name, min(num_classes, 10_000) if is_variant else num_classes, sizes
        )
        if is_variant:
            model._text_field_embedder = models["elmo"]._text_field_embedder
            model._head = models["elmo"]._head
        models[name] = model.to(device)
    return models


def at_largest_batch(
    args: argparse.Namespace, uses: Dict[str, MemoryUse], timings: Timings
) -> Dict[str, Dict[str, float]]:
    """What each model that fits does with the largest batch, from the times of two batches."""
    rows: Dict[str, Dict[str, float]] = {}
    for name, use in uses.items():
        if not use.largest_batch:
            continue
        seconds = on_the_line(
            (args.batch_size // 4, statistics.median(timings[f"{name}, smaller"])),
            (args.batch_size, statistics.median(timings[name])),
            use.largest_batch,
        )
        words = use.largest_batch * args.num_words
        rows[name] = {
            "largest_batch": use.largest_batch,
            "words": words,
            "seconds": seconds,
            "words_per_second": words / seconds,
        }
        if "elmo" in rows:
            ratio = rows[name]["words_per_second"] / rows["elmo"]["words_per_second"]
            rows[name]["this / elmo"] = ratio
    return rows


def main() -> None:
    parser = argument_parser("models", __doc__)
    parser.add_argument(
        "--contestants",
        nargs="+",
        choices=LANGUAGE_MODELS,
        default=[name for name in LANGUAGE_MODELS if name != "elmo, sparse gradients"],
        help="the first is what the others are compared with",
    )
    parser.add_argument("--batch-size", type=int, default=32, help="sentences; at least 4")
    parser.add_argument("--num-words", type=int, default=20, help="of a sentence")
    parser.add_argument("--vocabulary", type=int, default=800_000, help="words")
    parser.add_argument("--sizes", type=json.loads, default={}, help="of the configs, as JSON")
    parser.add_argument("--memory-gb", type=float, default=11.0, help="the paper's cards': 11")
    parser.add_argument("--link-gbit", type=float, default=100.0, help="of the predictions")
    args = parse_arguments(parser)
    if args.batch_size < 4:
        parser.error(f"--batch-size is {args.batch_size}; it takes 4 or more.")
    device, few = args.device, args.batch_size // 4
    torch.manual_seed(1)

    uses: Dict[str, MemoryUse] = {}
    for name in args.contestants:
        logger.info("Measuring the memory of %s", name)
        uses[name] = memory_use(
            build_step,
            (name, args.vocabulary, args.sizes, args.num_words, device),
            rehearsal=(name, 100, SMALL, args.num_words, device),
            batch_sizes=(few, 3 * few),
            budget=args.memory_gb * 1e9,
            device=device,
            max_checked=args.batch_size,
        )

    models = build_all(args.contestants, args.vocabulary, args.sizes, device)
    # A module that two models share is in the dictionary once.
    parameters = dict.fromkeys(p for model in models.values() for p in model.parameters())
    optimizer = torch.optim.Adam(list(parameters), lr=2e-4)
    contestants: Dict[str, Callable[[], Any]] = {}
    smaller: Dict[str, Callable[[], Any]] = {}
    for name, model in models.items():
        step_of = training_step(model, args.num_words, args.vocabulary, device, optimizer=optimizer)
        contestants[name] = step_of(args.batch_size)
        smaller[f"{name}, smaller"] = step_of(few)
    timings = time_in_turn({**contestants, **smaller}, repeats=args.repeats, device=device)

    measures: Dict[str, Dict[str, float]] = {}
    for name, model in models.items():
        use = uses[name]
        on_line = use.fixed_bytes + use.bytes_per_sentence * args.batch_size
        measures[name] = {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            # Measured, unless such a batch exceeds the budget.
            "peak_memory_bytes": use.peaks.get(args.batch_size, round(on_line)),
            "words_per_second": args.batch_size * args.num_words / statistics.median(timings[name]),
        }
    at_largest = at_largest_batch(args, uses, timings)
    steps = {
        name: (int(measures[name]["parameters"]), row["words"], row["seconds"])
        for name, row in at_largest.items()
    }
    links = {f"{args.link_gbit:g} Gbit/s": args.link_gbit * 1e9 / 8, "PCIe 3": PCIE_3}
    predicted = {n: predictions(steps, n, links) for n in (4, 8, 64)}
    report(
        {name: timings[name] for name in contestants},
        args.contestants[0],
        args.out,
        device=device,
        measures=measures,
        batch_size=args.batch_size,
        num_words=args.num_words,
        vocabulary=args.vocabulary,
        sizes=args.sizes,
        memory_budget_gb=args.memory_gb,
        smaller_seconds={name: timings[name] for name in smaller},
        memory={name: asdict(use) for name, use in uses.items()},
        at_largest_batch=at_largest,
        predicted_on_devices=predicted,
    )
    logger.info("\nWith the largest batch in %g GB:\n%s", args.memory_gb, table_of(at_largest))
    for num_devices, table in predicted.items():
        logger.info("\nPredicted for %d devices:\n%s", num_devices, table_of(table))


if __name__ == "__main__":
    main()
