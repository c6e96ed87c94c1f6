"""
Compares the contextualizer with AllenNLP's `ElmoLstm`, PyTorch's `LSTM` with `proj_size` and the
matrix products of a training step alone, at three sizes.

    python -m benchmarks.contextualizer

A step is a forward and a backward pass; the loss is the sum of the outputs. All have two layers in
each direction. Ours has clipping and layer normalisation, `ElmoLstm` has no layer normalisation,
and PyTorch's LSTM, one for each direction, has neither.
"""

from typing import Any, Callable, Dict, Optional

import torch
from allennlp.modules.elmo_lstm import ElmoLstm

from allennlp_semfit.modules.seq2seq_encoders.bidirectional_language_model_lstm import (
    BidirectionalLanguageModelLstm,
)
from benchmarks.reporting import Lines, argument_parser, parse_arguments, report
from benchmarks.timing import time_interleaved

OURS = "bidirectional_language_model_lstm"
NUM_LAYERS = 2


def build_step(
    module: torch.nn.Module, forward: Callable[[], torch.Tensor], autocast: Optional[torch.dtype]
) -> Callable[[], None]:
    """A function that computes the gradients of all parameters of `module`."""

    def step() -> None:
        module.zero_grad(set_to_none=True)
        device = next(module.parameters()).device.type
        with torch.autocast(device, dtype=autocast, enabled=autocast is not None):
            loss = forward().float().sum()
        loss.backward()

    return step


def matrix_products(
    batch_size: int, length: int, hidden_dim: int, cell_size: int, **tensor: Any
) -> Callable[[], None]:
    """
    A function that computes the matrix products of a training step into preallocated tensors: for
    the inputs and the weight gradients over all time steps at once, for the states step by step.
    """

    def matrix(*shape: int) -> torch.Tensor:
        return torch.randn(shape, **tensor) * 0.1

    words = batch_size * length
    # Separate weights for each layer, so that they do not fit into the cache.
    layers = [
        (matrix(4 * cell_size, hidden_dim), matrix(4 * cell_size, hidden_dim))
        + (matrix(hidden_dim, cell_size),)
        for _ in range(2 * NUM_LAYERS)
    ]
    narrow, cells, wide = (matrix(words, n) for n in (hidden_dim, cell_size, 4 * cell_size))
    # Inputs are never overwritten: repeated products would reach denormal or infinite values, which
    # are slow.
    to_narrow, to_cells, to_wide = (torch.empty_like(t) for t in (narrow, cells, wide))
    steps = [slice(start, start + batch_size) for start in range(0, words, batch_size)]

    def products() -> None:
        for of_input, of_state, projection in layers:
            torch.mm(narrow, of_input.t(), out=to_wide)
            for number, rows in enumerate(steps):
                if number:
                    to_wide[rows].addmm_(narrow[rows], of_state.t())
                torch.mm(cells[rows], projection.t(), out=to_narrow[rows])
            for number, rows in reversed(list(enumerate(steps))):
                torch.mm(narrow[rows], projection, out=to_cells[rows])
                if number:
                    to_narrow[rows].addmm_(wide[rows], of_state)
            torch.mm(wide, of_input, out=to_narrow)
            wide.t() @ narrow
            wide.t() @ narrow
            narrow.t() @ cells

    return products


def build_candidates(
    batch_size: int,
    length: int,
    hidden_dim: int,
    cell_size: int,
    device: torch.device,
    autocast: Optional[torch.dtype],
) -> Dict[str, Callable[[], None]]:
    """The candidates at one size."""
    inputs = torch.randn(batch_size, length, hidden_dim, device=device)
    mask = torch.ones(batch_size, length, dtype=torch.bool, device=device)
    ours = BidirectionalLanguageModelLstm(hidden_dim, hidden_dim, cell_size, NUM_LAYERS).to(device)
    elmo = ElmoLstm(hidden_dim, hidden_dim, cell_size, NUM_LAYERS, False, 0.0, 3.0, 3.0).to(device)
    directions = torch.nn.ModuleList(
        torch.nn.LSTM(hidden_dim, cell_size, NUM_LAYERS, batch_first=True, proj_size=hidden_dim)
        for _ in range(2)
    ).to(device)
    reversed_inputs = inputs.flip(1)

    def torch_lstm() -> torch.Tensor:
        return directions[0](inputs)[0] + directions[1](reversed_inputs)[0]

    return {
        "ElmoLstm": build_step(elmo, lambda: elmo(inputs, mask), autocast),
        "torch.nn.LSTM": build_step(directions, torch_lstm, autocast),
        OURS: build_step(ours, lambda: ours(inputs, mask), autocast),
        "matrix products": matrix_products(
            batch_size, length, hidden_dim, cell_size, device=device, dtype=autocast
        ),
    }


def main() -> None:
    parser = argument_parser("contextualizer", __doc__)
    parser.add_argument(
        "--sizes",
        type=lambda size: tuple(map(int, size.split("x"))),
        nargs="+",
        default=[(512, 128), (2048, 256), (4096, 512)],
        metavar="CELLSxDIM",
        help="default: 512x128 2048x256 4096x512, the last the paper's",
    )
    parser.add_argument("--batch-size", type=int, default=32, help="sentences; default: 32")
    parser.add_argument("--length", type=int, default=20, help="words per sentence; default: 20")
    parser.add_argument(
        "--autocast",
        type=lambda name: getattr(torch, name),
        metavar="DTYPE",
        help="bfloat16 or float16; default: single precision",
    )
    args = parse_arguments(parser)
    torch.manual_seed(1)
    candidates, points, references = {}, {}, {}
    for cell_size, hidden_dim in args.sizes:
        at_this_size = build_candidates(
            args.batch_size, args.length, hidden_dim, cell_size, args.device, args.autocast
        )
        for name, step in at_this_size.items():
            full_name = f"{name}, {cell_size} cells"
            candidates[full_name] = step
            points[full_name] = (name, cell_size)
            references[full_name] = f"ElmoLstm, {cell_size} cells"
    report(
        time_interleaved(candidates, repeats=args.repeats, device=args.device),
        references,
        args.out,
        device=args.device,
        lines=Lines("memory cells in each direction of a layer", points),
        sizes=args.sizes,
        batch_size=args.batch_size,
        length=args.length,
        autocast=str(args.autocast),
    )


if __name__ == "__main__":
    main()
