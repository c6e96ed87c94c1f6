from typing import Any, Optional

import torch
from allennlp.common import Registrable
from allennlp.data import TextFieldTensors
from allennlp.nn.util import dist_reduce_sum

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.functional import (
    cosine_distance,
    nllvmf_distance,
    squared_l2_distance,
    unit_vectors,
)
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.vector_head_base import VectorHeadBase


class Distance(Registrable):
    """
    The loss of the `semfit` head. Subclasses implement `__call__`, which returns the distances,
    shape `(...)`, between predicted vectors and targets, both of shape `(..., m)`. The targets have
    unit norm unless a subclass sets `has_unit_targets` to `False`.
    """

    default_implementation = "cosine"

    has_unit_targets = True

    def __call__(self, predicted: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def initial_scale(self, dim: int) -> float:
        """
        Training starts from a constant prediction: this scale times the mean of the targets. An
        optimizer such as Adam changes each element by about the learning rate in a step, so with a
        much smaller scale than the default the direction would change too fast at first, and with a
        larger one too slowly.
        """
        return dim**0.5 / 3


@Distance.register("cosine")
class CosineDistance(Distance):
    """
    The paper's distance, minus the cosine: see `cosine_distance`.

    Registered as a `Distance` with name "cosine", the default.
    """

    def __call__(self, predicted: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return cosine_distance(predicted, targets)


@Distance.register("l2")
class L2Distance(Distance):
    """
    `|c - w|^2`; the target is not normalized.

    Registered as a `Distance` with name "l2".
    """

    has_unit_targets = False

    def __call__(self, predicted: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return squared_l2_distance(predicted, targets)

    def initial_scale(self, dim: int) -> float:
        return 1.0


@Distance.register("nllvmf")
class NllVmfDistance(Distance):
    """
    The negative log-likelihood of the target's direction under a von Mises-Fisher distribution: see
    `nllvmf_distance`.

    Registered as a `Distance` with name "nllvmf".

    # Parameters

    lambda_1 : `float`, optional (default = `0.02`)
        The weight of the penalty on the norm of the prediction, at least 0.
    lambda_2 : `float`, optional (default = `0.1`)
        The weight of the dot product, at least 0.

    # Example

    ```json
    "distance": {"type": "nllvmf", "lambda_1": 0.02, "lambda_2": 0.1}
    ```
    """

    def __init__(self, lambda_1: float = 0.02, lambda_2: float = 0.1) -> None:
        check_bounds({"lambda_1": lambda_1, "lambda_2": lambda_2}, at_least=0)
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2

    def __call__(self, predicted: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nllvmf_distance(predicted, targets, self.lambda_1, self.lambda_2)

    def initial_scale(self, dim: int) -> float:
        # The norm is the concentration of the predicted distribution.
        return dim**0.5


@LmHead.register("semfit")
class SemfitHead(VectorHeadBase):
    """
    Predicts the pre-trained vector of the next (or previous) word. The loss is the distance to it:
    Li et al. 2019, "Efficient Contextual Representation Learning Without Softmax Layer", section 3,
    equation 3. Its cost does not depend on the vocabulary size. The only trainable parameters are
    those of a linear map from the context to the vector. `VectorHeadBase` provides the targets.

    The weights start at zero. The first training batch sets the bias to the mean of the targets,
    times `Distance.initial_scale`, unless a checkpoint or an `initializer` has set it. Otherwise,
    the contextualizer would have to learn the common component of all word vectors.

    The loss yields no perplexity (section 4.3 of the paper). The metrics are, for any distance:

    - `cosine`: the mean cosine of prediction and target.
    - `baseline_cosine`: the mean cosine of the best constant prediction and the targets. The model
      has learned the difference of the two from the context.

    Registered as an `LmHead` with name "semfit", the default.

    # Parameters

    distance : `Distance`, optional (default = `CosineDistance()`)
    input_dim, embedding_dim, target_embedder, target_indexer
        See `VectorHeadBase`.

    # Example

    ```json
    "head": {"type": "semfit", "input_dim": 512, "embedding_dim": 300, "distance": "cosine"}
    ```

    With targets other than the input vectors, where the reader's `token_indexers` contain a
    `single_id` named "tokens":

    ```json
    "head": {
        "type": "semfit", "input_dim": 512, "embedding_dim": 300,
        "target_embedder": {
            "type": "embedding", "embedding_dim": 300, "pretrained_file": "glove.txt",
            "trainable": false
        },
        "target_indexer": "tokens"
    },
    "vocabulary": {
        "pretrained_files": {"tokens": "glove.txt"}, "only_include_pretrained_words": true
    }
    ```
    """

    def __init__(
        self,
        input_dim: int,
        embedding_dim: int,
        distance: Optional[Distance] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, embedding_dim, **kwargs)
        self._bias_initialized = False
        self.distance = distance or CosineDistance()

    @torch.no_grad()
    def prepare_targets(
        self, source: TextFieldTensors, input_vectors: torch.Tensor
    ) -> torch.Tensor:
        vectors = self.target_vectors(source, input_vectors)  # (batch_size, length, embedding_dim)
        # Normalize once, for both directions, the loss and the metrics.
        return unit_vectors(vectors) if self.distance.has_unit_targets else vectors

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if self.training and not self._bias_initialized:
            self._initialize_bias(targets)
        predicted = self.projection(context)  # (num_targets, embedding_dim)
        losses = self.distance(predicted, targets)  # (num_targets,)
        with torch.no_grad():
            directions = targets if self.distance.has_unit_targets else unit_vectors(targets)
            is_cosine = type(self.distance) is CosineDistance
            cosines = -(losses if is_cosine else cosine_distance(predicted, directions))
            self.update_metrics(cosines, directions)
        return losses.sum()

    @torch.no_grad()
    def _initialize_bias(self, targets: torch.Tensor) -> None:
        """Sets the bias to the same value in all processes, unless it was loaded."""
        if self.projection.bias.any():
            self._bias_initialized = True
            return
        # A word without any known n-gram has a zero vector.
        targets = targets[targets.any(dim=-1)].float()  # (num_words, embedding_dim)
        count = targets.new_tensor([len(targets)])
        sums = dist_reduce_sum(torch.cat([targets.sum(0), count]))  # (embedding_dim + 1,)
        if sums[-1] > 0:
            scale = self.distance.initial_scale(self.embedding_dim)
            self.projection.bias.copy_(scale * sums[:-1] / sums[-1])
            self._bias_initialized = True
