from typing import Dict, Optional

import torch
from allennlp.data import TextFieldTensors

from allennlp_semfit.modules.distances import CosineDistance, Distance, cosine
from allennlp_semfit.modules.lm_heads.lm_head import LmHead
from allennlp_semfit.training.metrics.token_averages import MeanDirection, TokenAverage

__all__ = ["SemfitHead"]


@LmHead.register("semfit")
class SemfitHead(LmHead):
    """
    Predicts the pre-trained vector of the missing word, and is as wrong as it is far from it:
    section 3 of Li et al. 2019, "Efficient Contextual Representation Learning Without Softmax
    Layer", equation 3. It costs the same for any vocabulary and keeps none; all it trains is one
    linear map from the contextualizer's dimension to the vectors'.

    The targets are the model's own input vectors, which must be fixed.

    It has no perplexity (section 4.3 of the paper) and reports instead, whatever the distance:

    - `cosine`, the mean cosine of prediction and target, and
    - `constant_cosine`, the mean cosine that always answering one and the same vector would get,
      the best for the targets at hand: the mean of their directions.

    What was learnt is the first less the second.

    Registered as an `LmHead` with name "semfit", the default.

    # Parameters

    input_dim : `int`
        The dimension of a context vector.
    embedding_dim : `int`
        The dimension of the target vectors.
    distance : `Distance`, optional (default = `CosineDistance()`)

    # Example

    ```json
    "head": {"type": "semfit", "input_dim": 512, "embedding_dim": 300, "distance": "cosine"}
    ```
    """

    def __init__(self, input_dim: int, embedding_dim: int, distance: Distance = None) -> None:
        super().__init__(input_dim)
        self.embedding_dim = embedding_dim
        self.projection = torch.nn.Linear(input_dim, embedding_dim)
        self.distance = distance or CosineDistance()
        self._cosine = TokenAverage()
        self._mean_target = MeanDirection()

    def get_target_dim(self) -> Optional[int]:
        return self.embedding_dim

    def targets(self, source: TextFieldTensors, input_vectors: torch.Tensor) -> torch.Tensor:
        """
        # Returns

        `torch.Tensor`
            `input_vectors`, shape `(batch_size, length, embedding_dim)`.
        """
        return input_vectors.detach()

    def forward(self, context: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predicted = self.projection(context)
        with torch.no_grad():
            self._cosine(-cosine(predicted, targets))
            self._mean_target(targets)
        return self.distance(predicted, targets).sum()

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return {
            "cosine": self._cosine.get_metric(reset),
            "constant_cosine": self._mean_target.get_metric(reset),
        }
