"""
How training time grows with the vocabulary, the batch and the number of processes.

    python -m benchmarks.scaling

`vocabulary` and `batch`: a training step of an output layer alone, over context vectors of 512
dimensions: forward pass, backward pass and an update with plain SGD. Layers that do not fit
`--memory-gb` are left out.

`processes`: a step of the model of `benchmarks.heads` in one process, and in two processes with
`DistributedDataParallel` over gloo on the CPU. Requires a core for each process.

`devices`: the predicted speed of 1 to 64 devices `--times-as-fast` as the device of
`benchmarks.models`, with the paper's batches: 128 sentences per GPU for ELMo, 256 for ELMo-A and
768 for ELMo-S. The time per step is extrapolated from the two batches that `benchmarks.models`
measures. This is a prediction, not a measurement: see `benchmarks/allreduce.py`.
"""

import json
import logging
import statistics
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from matplotlib.figure import Figure

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from benchmarks.allreduce import PCIE_3, allreduce_bytes, predict_speed, predict_speeds
from benchmarks.data_parallel import time_processes
from benchmarks.heads import SpeedTableModel
from benchmarks.language_models import BFLOAT16
from benchmarks.output_layers import (
    FASTTEXT_DIM,
    OUTPUT_LAYERS,
    build_output_layer,
    fixed_bytes,
    targets_for,
)
from benchmarks.reporting import (
    RESULTS,
    Lines,
    argument_parser,
    format_table,
    parse_arguments,
    plot_path,
    report,
)
from benchmarks.synthetic_words import sample_classes
from benchmarks.timing import extrapolate, time_interleaved

logger = logging.getLogger("benchmarks.scaling")

PARTS = ["vocabulary", "batch", "processes", "devices"]
NUM_DEVICES = [1, 2, 4, 8, 16, 32, 64]
# Sentences per GPU in Table 2 of Li et al. 2019.
PAPER_BATCH_SIZES = {"elmo": 128, "elmo_adaptive": 256, "elmo_semfit": 768}


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


def compare_processes(args: Any, out: Path) -> None:
    layers = ["semfit", "adaptive_softmax"]
    timings = time_processes(
        (layers, args.process_vocabulary, args.hidden_dim, args.batch_size, args.num_words),
        num_processes=args.processes,
        repeats=args.repeats,
    )
    measures: Dict[str, Dict[str, float]] = {}
    for layer in layers:
        with torch.device("meta"):
            model = SpeedTableModel(layer, args.process_vocabulary, args.hidden_dim)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        for num_processes, suffix in ((1, "process"), (args.processes, "processes")):
            name = f"{layer}, {num_processes} {suffix}"
            words = num_processes * args.batch_size * args.num_words
            measures[name] = {
                "allreduce_bytes": allreduce_bytes(parameters, num_processes),
                "words_per_second": words / statistics.median(timings[name]),
            }
    report(
        timings,
        next(iter(timings)),
        out,
        device=torch.device("cpu"),
        measures=measures,
        vocabulary=args.process_vocabulary,
        hidden_dim=args.hidden_dim,
        batch_size=args.batch_size,
        num_words=args.num_words,
        threads_per_process=1,
    )


def steps_at_paper_batch(
    measured: Dict[str, Any], times_as_fast: float
) -> Dict[str, Tuple[int, int, float]]:
    """
    The parameters, and the words and seconds per step with the paper's batch, by model, in single
    precision.
    """
    steps = {}
    for name, row in measured["timings"].items():
        if name.endswith(BFLOAT16):
            continue
        smaller = statistics.median(measured["smaller_seconds"][name])
        batch_size = PAPER_BATCH_SIZES.get(name, PAPER_BATCH_SIZES["elmo"])
        seconds = extrapolate(
            (measured["smaller_batch_size"], smaller),
            (measured["batch_size"], row["median_seconds"]),
            batch_size,
        )
        words = batch_size * measured["num_words"]
        steps[name] = (row["parameters"], words, seconds / times_as_fast)
    return steps


def predict_devices(models: Path, link_gbit: float, times_as_fast: float, out: Path) -> None:
    """Predicts and plots the speed on several devices from the results of `benchmarks.models`."""
    measured = json.loads(models.read_text())
    steps = steps_at_paper_batch(measured, times_as_fast)
    links = {f"{link_gbit:g} Gbit/s": link_gbit * 1e9 / 8, "PCIe 3": PCIE_3}
    predicted = {n: predict_speeds(steps, n, links) for n in NUM_DEVICES}
    for num_devices in (1, 4, 8, 64):
        table = format_table(predicted[num_devices])
        logger.info("\nPredicted for %d devices:\n%s", num_devices, table)
    facts = {key: measured[key] for key in ("hardware", "device", "threads")}
    out.parent.mkdir(parents=True, exist_ok=True)
    predictions_and_facts = {
        **facts,
        "times_as_fast": times_as_fast,
        "words_per_step": {name: words for name, (_, words, _) in steps.items()},
        "predicted_on_devices": predicted,
    }
    out.write_text(json.dumps(predictions_and_facts, indent=2) + "\n")

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    link, rate = next(iter(links.items()))
    for name, step in steps.items():
        bounds = [predict_speed(*step, num_devices, rate) for num_devices in NUM_DEVICES]
        lower, upper = zip(*bounds)
        axes.fill_between(NUM_DEVICES, lower, upper, alpha=0.3)
        axes.plot(NUM_DEVICES, lower, marker="o", markersize=4, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(
        f"devices {times_as_fast:g} times as fast as the {facts['device']}, {link} each"
    )
    axes.set_ylabel("predicted words/s")
    axes.set_title(
        "Line: all-reduce after the step. Top of the band: complete overlap.", fontsize=9
    )
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(plot_path(out), dpi=120)
    logger.info("Wrote %s and %s", out, plot_path(out))


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
    parser.add_argument("--batch-size", type=int, default=16, help="sentences, for the other parts")
    parser.add_argument("--num-words", type=int, default=20, help="words per sentence")
    parser.add_argument(
        "--memory-gb", type=float, default=4.5, help="memory budget of a layer and its step"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--process-vocabulary", type=int, default=40_000, help="words")
    parser.add_argument("--hidden-dim", type=int, default=2048, help="LSTM units, for `processes`")
    parser.add_argument("--link-gbit", type=float, default=100.0, help="bandwidth of each device")
    parser.add_argument(
        "--times-as-fast",
        type=float,
        default=1.0,
        help="speed of the predicted devices relative to the one of benchmarks.models",
    )
    parser.add_argument(
        "--models", type=Path, help="default: benchmarks/results/models-DEVICE.json"
    )
    args = parse_arguments(parser)
    models = args.models or RESULTS / f"models-{args.device.type}.json"
    if "devices" in args.parts and not models.exists():
        parser.error(f"{models} does not exist. Run benchmarks.models first, or omit `devices`.")
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
    if "processes" in args.parts:
        compare_processes(args, out["processes"])
    if "devices" in args.parts:
        predict_devices(models, args.link_gbit, args.times_as_fast, out["devices"])


if __name__ == "__main__":
    main()
