from typing import Any, Dict

from allennlp.training.optimizers import AdamOptimizer, Optimizer


@Optimizer.register("fused_adam")
class FusedAdam(AdamOptimizer):
    """
    A version of `adam` that updates each parameter in one pass over the memory, which is faster. It
    has the parameters of `adam`. Sparse gradients are not supported.

    Registered as an `Optimizer` with name "fused_adam".

    # Example

    ```json
    "optimizer": {"type": "fused_adam", "lr": 4e-4}
    ```
    """

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        super().add_param_group({**param_group, "fused": True})
