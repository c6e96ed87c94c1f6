"""The projected LSTM by its definition, which autograd differentiates: slow, and the reference."""

import torch
from torch.nn.functional import layer_norm

from allennlp_semfit.modules.kernels.projected_lstm.layer import ProjectedLstm


def read_plainly(layer: ProjectedLstm, inputs: torch.Tensor) -> torch.Tensor:
    """
    What `layer` makes of `inputs`, shape `(batch_size, length, hidden_dim)`, step by step.
    """
    state = inputs.new_zeros(inputs.size(0), layer.hidden_dim)
    cell_state = inputs.new_zeros(inputs.size(0), layer.cell_size)
    outputs = []
    for words in inputs.unbind(1):
        gates = layer.input_linearity(words) + layer.state_linearity(state)
        i, f, m, o = gates.chunk(4, dim=-1)
        cell_state = f.sigmoid() * cell_state + i.sigmoid() * m.tanh()
        cell_state = _clipped(cell_state, layer.memory_cell_clip_value)
        state = layer.state_projection(o.sigmoid() * cell_state.tanh())
        state = _clipped(state, layer.state_projection_clip_value)
        if isinstance(layer.layer_norm, torch.nn.LayerNorm):
            norm = layer.layer_norm
            state = layer_norm(state, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        outputs.append(state)
    return torch.stack(outputs, dim=1)


def _clipped(tensor, clip_value):
    return tensor if clip_value is None else tensor.clamp(-clip_value, clip_value)
