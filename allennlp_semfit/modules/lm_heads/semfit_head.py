import logging
from typing import Any, Optional

import torch
from allennlp.common.util import is_distributed
from allennlp.data import TextFieldTensors

from allennlp_semfit.functional import cosine_distance, unit_vectors
from allennlp_semfit.modules.lm_heads.distances import CosineDistance, Distance
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.modules.lm_heads.vector_head_base import VectorHeadBase

logger = logging.getLogger(__name__)


@LmHead.register("semfit")
class SemfitHead(VectorHeadBase):
    """
    Predicts the pre-trained vector of the next (or previous) word. The loss is the distance to it:
    Li et al. 2019, "Efficient Contextual Representation Learning Without Softmax Layer", section 3,
    equation 3. Its cost does not depend on the vocabulary size. The only trainable parameters are
    those of a linear map from the context to the vector. `VectorHeadBase` provides the targets.

    The weights start at zero. The first training batch sets the bias to
    `Distance.initial_prediction`, approximately the best constant prediction, unless a checkpoint
    or an `initializer` has set it. Otherwise, the contextualizer would have to learn the common
    component of all word vectors.

    The loss yields no perplexity (section 4.3 of the paper). The metrics are, for any distance:

    - `cosine`: the mean cosine of prediction and target.
    - `baseline_cosine`: the mean cosine of the best constant prediction and the targets. The model
      has learned the difference of the two from the context.

    Registered as an `LmHead` with name "semfit", the default.

    # Parameters

    input_dim : `int`
        The dimension of a context vector.
    embedding_dim : `int`
        The dimension of the target vectors.
    distance : `Distance`, optional (default = `CosineDistance()`)
    target_embedder, target_indexer, center_targets, whiten_targets
        See `VectorHeadBase`. The paper neither centers nor whitens the targets.

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
    }
    ```
    """

    name = "semfit"

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
        vectors = self.transform(vectors)
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
        sums = torch.cat([targets.sum(0), count])  # (embedding_dim + 1,)
        if is_distributed():
            torch.distributed.all_reduce(sums)
        if sums[-1] == 0:
            return
        self.projection.bias.copy_(self.distance.initial_prediction(sums[:-1] / sums[-1]))
        self._bias_initialized = True
