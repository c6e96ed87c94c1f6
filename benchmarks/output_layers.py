"""
How the training time of output layers grows with the vocabulary: heads of this package, and others
wrapped as heads.

    python -m benchmarks.output_layers

A training step of an output layer alone, over 320 context vectors of 512 dimensions: forward pass,
backward pass and an update with plain SGD. Layers that do not fit `--memory-gb` are left out.
"""

from typing import Any, Callable, Dict, Optional

import torch
from allennlp.common import Params

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.softmax_head_base import SoftmaxHeadBase
from allennlp_semfit.modules.lm_heads.vector_head_base import VectorHeadBase
from benchmarks.reporting import argument_parser, parse_arguments, report
from benchmarks.synthetic import SizedVocabulary, sample_classes
from benchmarks.timing import time_interleaved

FASTTEXT_DIM = 300
# Of the steps of the layers alone.
INPUT_DIM = 512
NUM_WORDS = 320

OUTPUT_LAYERS = [
    "semfit",
    "contrastive",
    "adaptive_softmax",
    "sampled_softmax",
    "sampled_softmax, sparse",
    "softmax",
    "cut-cross-entropy",
]


@LmHead.register("cut_cross_entropy")
class CutCrossEntropyHead(SoftmaxHeadBase):
    """
    The full softmax of the package `cut-cross-entropy` (Wijmans et al. 2025, "Cut Your Losses in
    Large-Vocabulary Language Models"): its Triton kernels on a GPU, which never materialise the
    logits, and its `torch.compile` implementation on a CPU. Has no bias.
    """

    def __init__(self, vocab: SizedVocabulary, input_dim: int) -> None:
        super().__init__(vocab, input_dim)
        self.weight = torch.nn.Parameter(
            torch.randn(self.num_classes, input_dim).mul_(input_dim**-0.5)
        )

    def losses(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        from cut_cross_entropy import linear_cross_entropy

        impl = "cce" if context.is_cuda else "torch_compile"
        return linear_cross_entropy(context, self.weight, targets, reduction="none", impl=impl)


def _params_of(name: str, num_classes: int) -> Dict[str, Any]:
    if name in ("semfit", "contrastive"):
        return {"type": name, "embedding_dim": FASTTEXT_DIM}
    if name == "adaptive_softmax":
        return {"type": "adaptive_softmax", **_clusters(num_classes)}
    if name.startswith("sampled_softmax"):
        num_samples = min(8192, num_classes // 2)
        return {"type": "sampled_softmax", "num_samples": num_samples, "sparse": "sparse" in name}
    return {"type": name.replace("-", "_")}


def _clusters(num_classes: int) -> Dict[str, Any]:
    """
    Cutoffs for which the number of parameters matches the paper for vocabularies of 40,000, 800,000
    and 2,000,000 words.
    """
    if num_classes <= 40_000:
        return {"cutoffs": [num_classes // 10], "div_value": 1.0}
    cutoffs = [cutoff for cutoff in (40_000, 200_000) if cutoff < num_classes]
    return {"cutoffs": cutoffs, "div_value": 4.0}


def build_output_layer(name: str, num_classes: int, input_dim: int) -> LmHead:
    """`name` is one of `OUTPUT_LAYERS`. Those of vectors ignore the size of the vocabulary."""
    params = Params({**_params_of(name, num_classes), "input_dim": input_dim})
    return LmHead.from_params(params, vocab=SizedVocabulary(num_classes))


def fixed_bytes(name: str, num_classes: int, input_dim: int) -> int:
    """The size of the parameters and their gradients in single precision, in bytes."""
    with torch.device("meta"):
        head = build_output_layer(name, num_classes, input_dim)
    parameters = sum(parameter.numel() for parameter in head.parameters())
    return 4 * parameters * (1 if "sparse" in name else 2)


def targets_for(
    head: LmHead, classes: torch.Tensor, vectors: Optional[torch.Tensor], device: torch.device
) -> Any:
    """
    The targets of words of these classes, on the device. `vectors` are those of all words; with
    `None`, the vectors of targets are random.
    """
    if not isinstance(head, VectorHeadBase):
        return classes.to(device)
    if vectors is None:
        words, classes = classes.unique(return_inverse=True)
        vectors = torch.randn(len(words), FASTTEXT_DIM)
    # As one sentence. Number 0 is padding.
    source = {"tokens": {"tokens": classes.unsqueeze(0).to(device) + 1}}
    return head.targets(source, vectors[classes].unsqueeze(0).to(device))[0]


def output_layer_step(
    head: LmHead, num_classes: int, vectors: torch.Tensor, device: torch.device
) -> Callable[[], None]:
    optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
    classes = sample_classes(num_classes, NUM_WORDS)
    context = torch.randn(NUM_WORDS, INPUT_DIM, device=device, requires_grad=True)

    def step() -> None:
        targets = targets_for(head, classes, vectors, device)
        (head(context, targets) / NUM_WORDS).backward()
        optimizer.step()
        # Free the gradients, so that only one candidate at a time has any.
        optimizer.zero_grad()
        context.grad = None

    return step


def minimum_bytes(layer: str, num_classes: int) -> int:
    """The size of the parameters and of the logits of all classes, if any, and their gradients."""
    scored = {"softmax": num_classes, "cut-cross-entropy": num_classes, "contrastive": 4096}
    scores = NUM_WORDS * min(scored.get(layer, 0), num_classes)
    return fixed_bytes(layer, num_classes, INPUT_DIM) + 3 * 4 * scores


def main() -> None:
    parser = argument_parser("scaling_vocabulary", __doc__)
    parser.add_argument("--layers", nargs="+", choices=OUTPUT_LAYERS, default=OUTPUT_LAYERS)
    parser.add_argument(
        "--vocabularies",
        type=int,
        nargs="+",
        default=[10_000, 40_000, 200_000, 800_000, 2_000_000],
        help="words",
    )
    parser.add_argument("--memory-gb", type=float, default=4.5, help="of a layer and its step")
    args = parse_arguments(parser)
    torch.manual_seed(1)

    vectors = torch.randn(max(args.vocabularies), FASTTEXT_DIM)
    candidates: Dict[str, Callable[[], Any]] = {}
    left_out: Dict[str, str] = {}
    for num_classes in args.vocabularies:
        for layer in args.layers:
            name = f"{layer}, {num_classes:,}"
            least = minimum_bytes(layer, num_classes)
            if least > args.memory_gb * 1e9:
                left_out[name] = f"{least / 1e9:.1f} GB"
                continue
            head = build_output_layer(layer, num_classes, INPUT_DIM).to(args.device)
            candidates[name] = output_layer_step(head, num_classes, vectors, args.device)
    timings = time_interleaved(candidates, repeats=args.repeats, device=args.device)
    reference = next(iter(timings))
    report(args, timings, reference, input_dim=INPUT_DIM, num_words=NUM_WORDS, left_out=left_out)


if __name__ == "__main__":
    main()
