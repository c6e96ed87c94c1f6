"""
The losses of the `semfit` and the `contrastive` head as functions of tensors, for any training loop
in PyTorch. Li et al. 2019 is "Efficient Contextual Representation Learning Without Softmax Layer".

Inputs in half precision are converted to `float32` after the linear map.
"""

import math
from random import Random
from typing import Optional, Tuple, Union

import torch
from torch.nn import functional

__all__ = [
    "contrastive_loss",
    "cosine_distance",
    "nllvmf_distance",
    "semfit_loss",
    "squared_l2_distance",
]


def semfit_loss(
    context: torch.Tensor,
    vectors: torch.Tensor,
    weight: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    distance: str = "cosine",
    reduction: str = "mean",
) -> torch.Tensor:
    """
    For each context `c`, the distance between `weight @ c + bias` and the pre-trained vector of the
    word to predict: equation 3 of Li et al. 2019.

    # Parameters

    context : `torch.Tensor`
        Shape `(..., hidden_dim)`.
    vectors : `torch.Tensor`
        The vector of each context's word. It gets no gradient. Shape `(..., embedding_dim)`.
    weight : `torch.Tensor`
        Shape `(embedding_dim, hidden_dim)`.
    bias : `torch.Tensor`, optional (default = `None`)
        Shape `(embedding_dim,)`.
    distance : `str`, optional (default = `"cosine"`)
        `"cosine"`, `"l2"` or `"nllvmf"`: `cosine_distance`, `squared_l2_distance` or
        `nllvmf_distance`.
    reduction : `str`, optional (default = `"mean"`)
        `"mean"`, `"sum"` or `"none"`.

    # Returns

    `torch.Tensor`
        A scalar; with `"none"`, the losses, shape `(...)`.

    # Raises

    `ValueError`
        If `distance` or `reduction` is unknown, or the shapes do not match.

    # Example

    ```python
    projection = torch.nn.Linear(512, 300)
    loss = semfit_loss(context, next_word_vectors, projection.weight, projection.bias)
    ```
    """
    if distance not in _DISTANCES:
        raise ValueError(f"`distance` is {distance!r}; it must be one of {', '.join(_DISTANCES)}.")
    _check_shapes(context, vectors, weight)
    function, has_unit_targets = _DISTANCES[distance]
    targets = unit_vectors(vectors.detach()) if has_unit_targets else vectors.detach()
    predicted = functional.linear(context, weight, bias)  # (..., embedding_dim)
    return _reduce(function(predicted, targets), reduction)


def contrastive_loss(
    context: torch.Tensor,
    vectors: torch.Tensor,
    weight: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    scale: Union[float, torch.Tensor] = 10.0,
    max_negatives: Optional[int] = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """
    InfoNCE with in-batch negatives: `-log exp(s cos(Wc + b, w_v)) / sum_u exp(s cos(Wc + b, w_u))`,
    where `v` is the word to predict in the context `c`, and `u` runs over the distinct vectors. It
    is contrastive weight tying (Godey et al. 2024, "Headless Language Models: Learning without
    Predicting with Contrastive Weight Tying", equation 3) with fixed vectors. A word whose vector
    is zero has a loss of zero and is not a negative.

    # Parameters

    context, vectors, weight, bias, reduction
        See `semfit_loss`.
    scale : `Union[float, torch.Tensor]`, optional (default = `10.0`)
        `s`, a number or a learned scalar: the inverse of the temperature.
    max_negatives : `int`, optional (default = `None`)
        If there are more negatives, this many are sampled without replacement.

    # Raises

    `ValueError`
        If `max_negatives` is less than 1. See also `semfit_loss`, whose result has the same form.

    # Example

    ```python
    projection = torch.nn.Linear(512, 300)
    loss = contrastive_loss(context, next_word_vectors, projection.weight, projection.bias)
    ```
    """
    _check_shapes(context, vectors, weight)
    predicted = unit_vectors(functional.linear(context, weight, bias))  # (..., embedding_dim)
    words, indices = distinct_vectors(vectors.detach())  # (num_words, embedding_dim), (...)
    scaled = scale * predicted
    losses = negative_log_likelihoods(scaled, unit_vectors(words), indices, max_negatives)
    return _reduce(losses, reduction)


def cosine_distance(predicted: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
    """
    Minus the cosine, `-(c / |c|) . w`, between -1 and 1: section 4.1 of Li et al. 2019.

    `predicted` is `c`, and `directions` is `w`, which must have unit norm. Both have the shape
    `(..., embedding_dim)`, and the result has the shape `(...)`.
    """
    return -_dot(predicted, directions) / _norms(predicted).clamp_min(_smallest_norm(predicted))


def squared_l2_distance(predicted: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """
    `|c - w|^2`: the L2 distance of section 4.1 of Li et al. 2019.

    `predicted` is `c`, and `targets` is `w`, of any norm. Both have the shape
    `(..., embedding_dim)`, and the result has the shape `(...)`.
    """
    return (_upcast_half(predicted) - _upcast_half(targets)).square().sum(dim=-1)


def nllvmf_distance(
    predicted: torch.Tensor,
    directions: torch.Tensor,
    lambda_1: float = 0.02,
    lambda_2: float = 0.1,
) -> torch.Tensor:
    """
    `-log C_m(|c|) - lambda_2 c . w + lambda_1 |c|`: section 4.1 of Li et al. 2019. It is the
    negative log-likelihood of the direction `w` under a von Mises-Fisher distribution with mean
    direction `c / |c|` and concentration `|c|`, with both regularization terms and the default
    weights of Kumar and Tsvetkov 2019, "Von Mises-Fisher Loss for Training Sequence to Sequence
    Models with Continuous Outputs". With the dimension `m` and the modified Bessel function of the
    first kind `I`, `C_m(k) = k^(m/2-1) / ((2 pi)^(m/2) I_{m/2-1}(k))`.

    The shapes are those of `cosine_distance`; `w` has unit norm.
    """
    concentration = _norms(predicted)
    log_normalizer = log_vmf_normalizer(concentration, predicted.size(-1))
    return -log_normalizer - lambda_2 * _dot(predicted, directions) + lambda_1 * concentration


# The function of each distance, and whether its targets have unit norm.
_DISTANCES = {
    "cosine": (cosine_distance, True),
    "l2": (squared_l2_distance, False),
    "nllvmf": (nllvmf_distance, True),
}


def unit_vectors(vectors: torch.Tensor) -> torch.Tensor:
    """
    `w / |w|`, or zero for a zero vector. The gradient is finite in the type of `vectors`. Input and
    result have the shape `(..., embedding_dim)`.
    """
    return _upcast_half(vectors) / _norms(vectors).clamp_min(_smallest_norm(vectors)).unsqueeze(-1)


def distinct_vectors(
    vectors: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    The distinct vectors of a batch, shape `(num_words, embedding_dim)`, and the index of each
    vector among them, shape `(...)`. The index is -1 for zero vectors and where `mask`, shape
    `(...)`, is `False`.

    `vectors` has the shape `(..., embedding_dim)`.
    """
    is_word = vectors.any(dim=-1)
    if mask is not None:
        is_word = is_word & mask
    vectors = vectors[is_word]  # (num_tokens, embedding_dim)
    # `torch.unique` of vectors sorts them, which is slow, so compare a 64-bit hash: a random linear
    # function of their bits. Adding 0.0 maps -0.0 to 0.0.
    bits = (_upcast_half(vectors) + 0.0).contiguous().view(torch.int32).long()
    # `torch.func.vmap` does not allow PyTorch's random numbers.
    random = Random(1)
    odd = [random.getrandbits(63) | 1 for _ in range(bits.size(1))]
    weights = torch.tensor(odd, device=bits.device)
    # (num_words,) and (num_tokens,)
    keys, numbers = (bits * weights).sum(-1).unique(return_inverse=True)
    first = numbers.new_empty(len(keys))
    first[numbers] = torch.arange(len(numbers), device=numbers.device)
    indices = torch.full_like(is_word, -1, dtype=torch.long)
    indices[is_word] = numbers
    return vectors[first], indices


def negative_log_likelihoods(
    scaled: torch.Tensor,
    words: torch.Tensor,
    indices: torch.Tensor,
    max_negatives: Optional[int] = None,
) -> torch.Tensor:
    """
    The losses of `contrastive_loss`, shape `(...)`: `-log softmax(scaled @ words.T)[indices]`, and
    0 where the index is -1.

    `scaled` contains the unit vectors of the predictions times the scale, shape
    `(..., embedding_dim)`; `words` contains unit vectors, shape `(num_words, embedding_dim)`; and
    `indices` contains the targets, shape `(...)`.

    Raises `ValueError` if `max_negatives` is less than 1.
    """
    if max_negatives is not None and max_negatives < 1:
        raise ValueError(f"`max_negatives` is {max_negatives}; it must be 1 or more, or None.")
    shape = indices.shape
    scaled, indices = scaled.reshape(-1, scaled.size(-1)), indices.flatten()  # (N, ...), (N,)
    with torch.autocast(scaled.device.type, enabled=False):
        words = words.to(scaled.dtype)
        if not len(words):
            return 0 * scaled.sum(-1).view(shape)
        if max_negatives is None or len(words) - 1 <= max_negatives:
            logits = functional.linear(scaled, words)  # (N, num_words)
            losses = functional.cross_entropy(logits, indices, ignore_index=-1, reduction="none")
            return losses.view(shape)
        drawn = torch.randperm(len(words), device=words.device)[: max_negatives + 1]
        logits = functional.linear(scaled, words[drawn])  # (N, max_negatives + 1)
        own = (scaled * words[indices]).sum(-1)  # (N,)
        # Mask the target (added below); if it was not drawn, mask the last draw, so that all rows
        # have equally many negatives.
        is_left_out = drawn == indices.unsqueeze(-1)
        is_left_out[:, -1] |= ~is_left_out.any(-1)
        logits = logits.masked_fill(is_left_out, -math.inf)
        losses = torch.logaddexp(own, logits.logsumexp(-1)) - own
        return losses.masked_fill(indices < 0, 0.0).view(shape)


# From this order on, five terms of Debye's expansion are accurate to 1e-9.
_LARGE_ORDER = 30


def log_vmf_normalizer(concentration: torch.Tensor, dim: int) -> torch.Tensor:
    """
    `log C_m(k) = (m/2 - 1) log k - (m/2) log 2 pi - log I_{m/2-1}(k)`, where `I` is the modified
    Bessel function of the first kind. Neither value nor derivatives over- or underflow.

    `concentration` is `k`, non-negative and of any shape, which is also the shape of the result;
    `dim` is `m`.
    """
    k, order = concentration.double(), dim / 2 - 1
    # Start at an order `v` that is large enough for Debye's expansion and step down with the
    # recurrence of the ratios, `k I_v / I_{v-1} = k^2 / (2 v + k I_{v+1} / I_v)`, which is stable
    # in this direction (DLMF 10.29.1).
    steps = max(0, math.ceil(_LARGE_ORDER - order))
    log_bessel = _debye_log_bessel(order + steps, k)
    ratio = k * k * (_debye_log_bessel(order + steps + 1, k) - log_bessel).exp()
    for step in range(steps):
        divisor = 2 * (order + steps - step) + ratio
        log_bessel, ratio = log_bessel + divisor.log(), k * k / divisor
    return (-dim / 2 * math.log(2 * math.pi) - log_bessel).to(concentration.dtype)


def _debye_log_bessel(order: float, x: torch.Tensor) -> torch.Tensor:
    """
    `log(I_v(x) / x^v)` by Debye's uniform expansion (DLMF 10.41.3, the polynomials 10.41.10). All
    terms and their derivatives are finite at 0.
    """
    root = (order * order + x * x).sqrt()
    p = order / root
    p2 = p * p
    u1 = p * (3 - 5 * p2) / 24
    u2 = p2 * (81 - 462 * p2 + 385 * p2**2) / 1152
    u3 = p * p2 * (30375 - 369603 * p2 + 765765 * p2**2 - 425425 * p2**3) / 414720
    u4 = (
        p2**2
        * (4465125 - 94121676 * p2 + 349922430 * p2**2 - 446185740 * p2**3 + 185910725 * p2**4)
        / 39813120
    )
    series = u1 / order + u2 / order**2 + u3 / order**3 + u4 / order**4
    prefactor = -0.5 * (2 * math.pi * root).log() + series.log1p()
    return root - order * (order + root).log() + prefactor


def vectors_differ(vectors: torch.Tensor, trained: torch.Tensor) -> bool:
    """
    Whether `vectors`, shape `(..., dim)`, differ from those used in training, `trained`, of the
    same shape or `(dim,)`, by more than the rounding of `export-model --compact`. Before training,
    `trained` is zero, and the result `False`.
    """
    if trained.shape[-1:] != vectors.shape[-1:] or not trained.any():
        return False
    return bool(((vectors - trained).norm(dim=-1) > 0.1 * trained.norm(dim=-1)).any())


def _dot(predicted: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
    return (_upcast_half(predicted) * _upcast_half(directions)).sum(dim=-1)


def _norms(vectors: torch.Tensor) -> torch.Tensor:
    # Scale the vectors, because in float32 the squares of large values are infinite.
    vectors = _upcast_half(vectors)
    largest = vectors.detach().abs().amax(dim=-1, keepdim=True)
    scale = largest.clamp_min(torch.finfo(vectors.dtype).tiny)
    return torch.linalg.vector_norm(vectors / scale, dim=-1) * scale.squeeze(-1)


def _check_shapes(context: torch.Tensor, vectors: torch.Tensor, weight: torch.Tensor) -> None:
    """Without this check, the tensors might be broadcast."""
    dims = vectors.shape[-1:] + context.shape[-1:]
    if context.shape[:-1] != vectors.shape[:-1] or weight.shape != dims:
        raise ValueError(
            f"`context` has the shape {tuple(context.shape)}, `vectors` {tuple(vectors.shape)} and "
            f"`weight` {tuple(weight.shape)}; they must be (..., hidden_dim), (..., embedding_dim) "
            "and (embedding_dim, hidden_dim)."
        )


def _reduce(losses: torch.Tensor, reduction: str) -> torch.Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"`reduction` is {reduction!r}; it must be mean, sum or none.")
    return losses if reduction == "none" else getattr(losses, reduction)()


def _smallest_norm(vectors: torch.Tensor) -> float:
    """The smallest divisor for normalization: the gradient is proportional to its inverse."""
    return 1e-3 if vectors.dtype == torch.float16 else 1e-8


def _upcast_half(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
