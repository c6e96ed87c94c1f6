r"""
Table 2 of Li et al. 2019: the training speed and memory of ELMo, ELMo-A and ELMo-S at the paper's
sizes.

    python -m benchmarks.models

ELMo has a character CNN, AllenNLP's `ElmoLstm` and a sampled softmax over 8,192 of 800,000 words.
All use dense gradients, which training on several GPUs requires. A step is the forward pass, the
backward pass, gradient clipping and Adam, in single precision or, with the suffix `, bfloat16`,
with matrix products in `bfloat16` and a fused Adam.

On a single device ELMo can use faster sparse gradients. To save memory, this is a separate run:

    python -m benchmarks.models --candidates "elmo, sparse gradients" elmo_semfit \
        "elmo, sparse gradients, bfloat16" "elmo_semfit, bfloat16" --out …
"""

import logging
import statistics
from typing import Any, Callable, Dict

import torch

from allennlp_semfit.models.bidirectional_lm import BidirectionalLm
from benchmarks.language_models import SIZES, build_language_model, build_step, training_step
from benchmarks.peak_memory import import_in_fork_server, measure_peak_memory
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.timing import time_interleaved

logger = logging.getLogger("benchmarks.models")

# What the pages compare.
CANDIDATES = ["elmo", "elmo_adaptive", "elmo_semfit"]
CANDIDATES += [f"{name}, bfloat16" for name in (*CANDIDATES, "elmo_semfit_sru")]


def main() -> None:
    parser = argument_parser("models", __doc__)
    parser.add_argument(
        "--candidates",
        nargs="+",
        default=CANDIDATES,
        help=f"the first is the reference of the others; default: {'; '.join(CANDIDATES)}",
    )
    parser.add_argument("--batch-size", type=int, default=32, help="sentences; at least 4")
    parser.add_argument("--num-words", type=int, default=20, help="words per sentence")
    parser.add_argument("--vocabulary", type=int, default=800_000, help="words")
    parser.add_argument("--size", choices=SIZES, default="paper", help="of the models")
    args = parse_arguments(parser)
    if args.batch_size < 4:
        parser.error(f"--batch-size is {args.batch_size}; it must be at least 4.")
    device, few = args.device, args.batch_size // 4
    torch.manual_seed(1)

    peaks: Dict[str, int] = {}
    for name in args.candidates:
        logger.info("Measuring the memory of %s", name)
        use = measure_peak_memory(
            build_step,
            (name, args.vocabulary, args.size, args.num_words, device),
            warmup=(name, 12_000, "small", args.num_words, device),
            batch_sizes=(few, 3 * few),
            # Unlimited: only the peak of `max_checked` matters.
            budget=1e15,
            device=device,
            max_checked=args.batch_size,
        )
        peaks[name] = use.peaks[args.batch_size]

    models: Dict[str, BidirectionalLm] = {}
    for name in args.candidates:
        logger.info("Building %s", name)
        # To save memory, a model is the same in both precisions.
        same = models.get(name.replace(", bfloat16", ""))
        models[name] = same or build_language_model(name, args.vocabulary, args.size).to(device)
    # Shared parameters occur only once.
    parameters = dict.fromkeys(p for model in models.values() for p in model.parameters())
    optimizer = torch.optim.Adam(list(parameters), lr=2e-4)
    candidates: Dict[str, Callable[[], Any]] = {
        name: training_step(name, model, args.num_words, args.vocabulary, device, optimizer)(
            args.batch_size
        )
        for name, model in models.items()
    }
    timings = time_interleaved(candidates, repeats=args.repeats, device=device)

    measures = {
        name: {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "peak_memory_bytes": peaks[name],
            "words_per_second": args.batch_size * args.num_words / statistics.median(timings[name]),
        }
        for name, model in models.items()
    }
    report(
        timings,
        args.candidates[0],
        args.out,
        device=device,
        measures=measures,
        batch_size=args.batch_size,
        num_words=args.num_words,
        vocabulary=args.vocabulary,
        size=args.size,
    )


if __name__ == "__main__":
    import_in_fork_server()
    main()
