"""
Compares contextualizers with AllenNLP's `ElmoLstm`, PyTorch's `LSTM` with `proj_size` and the
matrix products of a training step alone, at several sizes and precisions.

    python -m benchmarks.contextualizer

A step is a forward and a backward pass; the loss is the sum of the outputs. All modules have two
layers in each direction. Ours has clipping and layer normalization, `ElmoLstm` has no layer
normalization, and PyTorch's LSTM, one for each direction, has neither. In `bfloat16`, modules run
under autocast.
"""

import statistics
from typing import Any, Callable, Dict

import torch
from allennlp.modules.elmo_lstm import ElmoLstm
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

import allennlp_semfit  # noqa: F401 (registers the contextualizers)
from benchmarks.reporting import argument_parser, parse_arguments, report, time_interleaved

OURS = "bidirectional_language_model_lstm"
NUM_LAYERS = 2
LENGTH = 20


def build_step(
    module: torch.nn.Module, forward: Callable[[], torch.Tensor], dtype: torch.dtype
) -> Callable[[], None]:
    """A function that computes the gradients of all parameters of `module`."""

    def step() -> None:
        module.zero_grad(set_to_none=True)
        device = next(module.parameters()).device.type
        with torch.autocast(device, dtype=dtype, enabled=dtype != torch.float32):
            loss = forward().float().sum()
        loss.backward()

    return step


def matrix_products(
    batch_size: int, hidden_dim: int, cell_size: int, **tensor: Any
) -> Callable[[], None]:
    """
    A function that computes the matrix products of a training step: for the inputs and the weight
    gradients over all time steps at once, for the states step by step.
    """

    def matrix(*shape: int) -> torch.Tensor:
        return torch.randn(shape, **tensor) * 0.1

    words = batch_size * LENGTH
    # Separate weights for each layer, so that they do not fit into the cache.
    layers = [
        (matrix(4 * cell_size, hidden_dim), matrix(4 * cell_size, hidden_dim))
        + (matrix(hidden_dim, cell_size),)
        for _ in range(2 * NUM_LAYERS)
    ]
    narrow, cells, wide = (matrix(words, n) for n in (hidden_dim, cell_size, 4 * cell_size))
    steps = [slice(start, start + batch_size) for start in range(0, words, batch_size)]

    def products() -> None:
        for input_weight, state_weight, projection in layers:
            torch.mm(narrow, input_weight.mT)
            for number, rows in enumerate(steps):
                if number:
                    torch.mm(narrow[rows], state_weight.mT)
                torch.mm(cells[rows], projection.mT)
            for number, rows in reversed(list(enumerate(steps))):
                torch.mm(narrow[rows], projection)
                if number:
                    torch.mm(wide[rows], state_weight)
            torch.mm(wide, input_weight)
            torch.mm(wide.mT, narrow)
            torch.mm(wide.mT, narrow)
            torch.mm(narrow.mT, cells)

    return products


def build_candidates(
    batch_size: int, hidden_dim: int, cell_size: int, device: torch.device, dtype: torch.dtype
) -> Dict[str, Callable[[], None]]:
    """The candidates at one size."""
    inputs = torch.randn(batch_size, LENGTH, hidden_dim, device=device)
    mask = torch.ones(batch_size, LENGTH, dtype=torch.bool, device=device)
    sizes: Any = {"input_dim": hidden_dim, "hidden_dim": hidden_dim, "cell_size": cell_size}
    sizes["num_layers"] = NUM_LAYERS
    elmo = ElmoLstm(hidden_dim, hidden_dim, cell_size, NUM_LAYERS, False, 0.0, 3.0, 3.0).to(device)
    directions = torch.nn.ModuleList(
        torch.nn.LSTM(hidden_dim, cell_size, NUM_LAYERS, batch_first=True, proj_size=hidden_dim)
        for _ in range(2)
    ).to(device)
    reversed_inputs = inputs.flip(1)
    # "auto" would hide that the kernels were not built.
    implementations = {
        OURS: "native" if device.type == "cpu" else "auto",
        f"{OURS}, PyTorch operations": "torch",
    }
    ours = {
        name: Seq2SeqEncoder.by_name(OURS)(**sizes, implementation=implementation).to(device)
        for name, implementation in implementations.items()
    }

    def torch_lstm() -> torch.Tensor:
        return directions[0](inputs)[0] + directions[1](reversed_inputs)[0]

    def step(module: torch.nn.Module) -> Callable[[], None]:
        return build_step(module, lambda: module(inputs, mask), dtype)

    return {
        "ElmoLstm": build_step(elmo, lambda: elmo(inputs, mask), dtype),
        "torch.nn.LSTM": build_step(directions, torch_lstm, dtype),
        **{name: step(module) for name, module in ours.items()},
        "matrix products": matrix_products(
            batch_size, hidden_dim, cell_size, device=device, dtype=dtype
        ),
    }


def main() -> None:
    parser = argument_parser("contextualizer", __doc__)
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=["512x128", "2048x256", "4096x512"],
        metavar="CELLSxDIM",
        help="default: 512x128 2048x256 4096x512, the last the paper's",
    )
    parser.add_argument("--batch-size", type=int, default=32, help="sentences; default: 32")
    args = parse_arguments(parser)
    torch.manual_seed(1)
    candidates, references = {}, {}
    sizes = [tuple(map(int, size.split("x"))) for size in args.sizes]
    for cell_size, hidden_dim in sizes:
        for dtype in ("float32", "bfloat16"):
            at_this_size = build_candidates(
                args.batch_size, hidden_dim, cell_size, args.device, getattr(torch, dtype)
            )
            for name, step in at_this_size.items():
                candidates[f"{name}, {dtype}, {cell_size} cells"] = step
                references[f"{name}, {dtype}, {cell_size} cells"] = (
                    f"ElmoLstm, float32, {cell_size} cells"
                )
    timings = time_interleaved(candidates, repeats=args.repeats, device=args.device)
    measures = {
        name: {"words_per_second": args.batch_size * LENGTH / statistics.median(seconds)}
        for name, seconds in timings.items()
    }
    report(args, timings, references, measures, length=LENGTH)


if __name__ == "__main__":
    main()
