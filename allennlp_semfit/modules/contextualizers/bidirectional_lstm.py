from typing import List, Optional, Sequence

import torch

from allennlp_semfit.common.errors import check_bounds
from allennlp_semfit.modules.contextualizers.bidirectional_stack import BidirectionalStack
from allennlp_semfit.modules.kernels.implementation import check_implementation
from allennlp_semfit.modules.kernels.projected_lstm import ProjectedLstm, run_in_lockstep


class BidirectionalLstm(BidirectionalStack):
    """The implementation of `bidirectional_language_model_lstm`, which does not need AllenNLP."""

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        cell_size: int,
        num_layers: int = 2,
        layer_norm: bool = True,
        dropout: float = 0.0,
        memory_cell_clip_value: Optional[float] = 3.0,
        state_projection_clip_value: Optional[float] = 3.0,
        return_all_layers: bool = False,
        implementation: str = "auto",
    ) -> None:
        super().__init__(
            input_dim, hidden_dim, cell_size, num_layers, layer_norm, dropout, return_all_layers
        )
        check_implementation(implementation)
        clips = {
            "memory_cell_clip_value": memory_cell_clip_value,
            "state_projection_clip_value": state_projection_clip_value,
        }
        named = {f"contextualizer.{name}": clip for name, clip in clips.items()}
        check_bounds(named, at_least=0, but_not=0)
        self._add_layers(ProjectedLstm, **clips, implementation=implementation)

    def _run_layers(
        self, layers: Sequence[ProjectedLstm], inputs: torch.Tensor, batch_sizes: List[int]
    ) -> torch.Tensor:
        return run_in_lockstep(layers, inputs, batch_sizes)
