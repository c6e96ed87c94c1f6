"""
Table 2 of Li et al. 2019: training ELMo, ELMo-A and ELMo-S, at the paper's sizes.

    python -m benchmarks.models

ELMo is what people train today: a character CNN, AllenNLP's own `ElmoLstm` and a sampled softmax
of 8,192 out of 800,000 words. With our contextualizer in the place of its LSTM, it is a row of its
own: what then remains is due to the input and the output layer. All have single precision and
dense gradients, as several GPUs need them. A step is the forward pass, the backward pass, clipping
of the gradient and Adam.

On one device ELMo may have sparse gradients, and be faster. It does not fit beside the others here:

    python -m benchmarks.models --candidates "elmo, sparse gradients" elmo_semfit --out …

The times of a batch of a quarter of the sentences are in the JSON file too: `benchmarks.scaling`
draws a line through the two.
"""

import json
import logging
import statistics
from typing import Any, Callable, Dict, Sequence

import torch

from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from benchmarks.language_models import (
    LANGUAGE_MODELS,
    build_language_model,
    build_step,
    training_step,
)
from benchmarks.memory import memory_use
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.timing import time_in_turn

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


def main() -> None:
    parser = argument_parser("models", __doc__)
    parser.add_argument(
        "--candidates",
        nargs="+",
        choices=LANGUAGE_MODELS,
        default=[name for name in LANGUAGE_MODELS if name != "elmo, sparse gradients"],
        help="the first is what the others are compared with",
    )
    parser.add_argument("--batch-size", type=int, default=32, help="sentences; at least 4")
    parser.add_argument("--num-words", type=int, default=20, help="of a sentence")
    parser.add_argument("--vocabulary", type=int, default=800_000, help="words")
    parser.add_argument("--sizes", type=json.loads, default={}, help="of the configs, as JSON")
    args = parse_arguments(parser)
    if args.batch_size < 4:
        parser.error(f"--batch-size is {args.batch_size}; it takes 4 or more.")
    device, few = args.device, args.batch_size // 4
    torch.manual_seed(1)

    peaks: Dict[str, int] = {}
    for name in args.candidates:
        logger.info("Measuring the memory of %s", name)
        use = memory_use(
            build_step,
            (name, args.vocabulary, args.sizes, args.num_words, device),
            warmup=(name, 100, SMALL, args.num_words, device),
            batch_sizes=(few, 3 * few),
            # No bound: what is wanted is the peak at the last.
            budget=1e15,
            device=device,
            max_checked=args.batch_size,
        )
        peaks[name] = use.peaks[args.batch_size]

    models = build_all(args.candidates, args.vocabulary, args.sizes, device)
    # A module that two models share is in the dictionary once.
    parameters = dict.fromkeys(p for model in models.values() for p in model.parameters())
    optimizer = torch.optim.Adam(list(parameters), lr=2e-4)
    candidates: Dict[str, Callable[[], Any]] = {}
    smaller: Dict[str, Callable[[], Any]] = {}
    for name, model in models.items():
        step_of = training_step(model, args.num_words, args.vocabulary, device, optimizer=optimizer)
        candidates[name] = step_of(args.batch_size)
        smaller[f"{name}, smaller"] = step_of(few)
    timings = time_in_turn({**candidates, **smaller}, repeats=args.repeats, device=device)

    measures = {
        name: {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "peak_memory_bytes": peaks[name],
            "words_per_second": args.batch_size * args.num_words / statistics.median(timings[name]),
        }
        for name, model in models.items()
    }
    report(
        {name: timings[name] for name in candidates},
        args.candidates[0],
        args.out,
        device=device,
        measures=measures,
        batch_size=args.batch_size,
        num_words=args.num_words,
        vocabulary=args.vocabulary,
        sizes=args.sizes,
        smaller_batch_size=few,
        smaller_seconds={name: timings[f"{name}, smaller"] for name in candidates},
    )


if __name__ == "__main__":
    main()
