import torch
from allennlp.common import Registrable

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.functional import cosine_distance, nllvmf_distance, squared_l2_distance


class Distance(Registrable):
    """
    The loss of the `semfit` head. The head scales the targets to unit norm, unless the attribute
    `has_unit_targets` of the class is `False`.
    """

    default_implementation = "cosine"

    has_unit_targets = True
    """Whether the head scales the targets to unit norm."""

    def __call__(self, predicted: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """
        Returns the distances, shape `(...)`, between the predicted vectors and the target vectors,
        both of shape `(..., m)`.
        """
        raise NotImplementedError

    def initial_prediction(self, mean_target: torch.Tensor) -> torch.Tensor:
        """
        The constant prediction that training starts from. By default, this is the mean of the
        targets, scaled by `sqrt(m) / 3`. An optimizer such as Adam changes each element by about
        the learning rate in a step, so with a much smaller norm the direction would change too
        fast at first, and with a larger one too slowly.

        `mean_target`, like the result, has the shape `(m,)`.
        """
        return len(mean_target) ** 0.5 / 3 * mean_target


@Distance.register("cosine")
class CosineDistance(Distance):
    """
    The paper's distance, minus the cosine, `-(c / |c|) . (w / |w|)`: between -1 and 1.

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

    def initial_prediction(self, mean_target: torch.Tensor) -> torch.Tensor:
        """The mean of the targets. See [`Distance`](#distance)."""
        return mean_target


@Distance.register("nllvmf")
class NllVmfDistance(Distance):
    """
    `-log C_m(|c|) - lambda_2 c . (w / |w|) + lambda_1 |c|`: the negative log-likelihood of the
    target's direction under a von Mises-Fisher distribution around `c / |c|` of concentration
    `|c|`, with the regularization of Kumar and Tsvetkov 2019, "Von Mises-Fisher Loss for Training
    Sequence to Sequence Models with Continuous Outputs", and its defaults.

    Registered as a `Distance` with name "nllvmf".

    # Parameters

    lambda_1 : `float`, optional (default = `0.02`)
        The weight of the penalty on the norm of the prediction.
    lambda_2 : `float`, optional (default = `0.1`)
        The weight of the dot product.

    # Raises

    `ConfigurationError`
        If one of them is negative.

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

    def initial_prediction(self, mean_target: torch.Tensor) -> torch.Tensor:
        """
        The mean direction, scaled so that its elements are about 1: the norm is the concentration
        of the predicted distribution. See [`Distance`](#distance).
        """
        return len(mean_target) ** 0.5 * mean_target
