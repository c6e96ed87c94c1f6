"""Builds the output layers to compare: heads of this package, and others wrapped as heads."""

from typing import Any, Dict, Optional

import torch
from allennlp.common import Params

from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.softmax_heads import SoftmaxHeadBase
from allennlp_semfit.modules.lm_heads.vector_head_base import VectorHeadBase
from benchmarks.synthetic import SizedVocabulary

FASTTEXT_DIM = 300

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
    Large-Vocabulary Language Models"): its Triton kernels on a GPU, which never materialize the
    logits, and its `torch.compile` implementation on a CPU. It has no bias.
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
    """`name` is one of `OUTPUT_LAYERS`. Those with word vectors ignore `num_classes`."""
    params = Params({**_params_of(name, num_classes), "input_dim": input_dim})
    return LmHead.from_params(params, vocab=SizedVocabulary(num_classes))


def least_bytes(name: str, num_classes: int, input_dim: int, num_words: int) -> int:
    """
    The size, in single precision, of the parameters and their gradients, and of the scores of all
    classes, if any, that a layer computes for a batch of `num_words`.
    """
    with torch.device("meta"):
        head = build_output_layer(name, num_classes, input_dim)
    parameters = sum(parameter.numel() for parameter in head.parameters())
    scored = {"softmax": num_classes, "cut-cross-entropy": num_classes, "contrastive": 4096}
    scores = num_words * min(scored.get(name, 0), num_classes)
    return 4 * parameters * (1 if "sparse" in name else 2) + 3 * 4 * scores


def targets_for(
    head: LmHead, classes: torch.Tensor, vectors: Optional[torch.Tensor], device: torch.device
) -> Any:
    """
    The targets of words of these classes, on the device. `vectors` contains the vector of each
    class; with `None`, the target vectors are random.
    """
    if not isinstance(head, VectorHeadBase):
        return classes.to(device)
    if vectors is None:
        words, classes = classes.unique(return_inverse=True)
        vectors = torch.randn(len(words), FASTTEXT_DIM)
    # All classes as one sentence. Index 0 is padding.
    source = {"tokens": {"tokens": classes.unsqueeze(0).to(device) + 1}}
    return head.prepare_targets(source, vectors[classes].unsqueeze(0).to(device))[0]
