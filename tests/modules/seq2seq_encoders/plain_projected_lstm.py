"""The projected LSTM by its definition, which autograd differentiates: slow, and the reference."""

import torch
from torch.nn.functional import layer_norm

from allennlp_semfit.modules.seq2seq_encoders.projected_lstm import ProjectedLstm


def read_plainly(layer: ProjectedLstm, inputs: torch.Tensor) -> torch.Tensor:
    """
    What `layer` makes of `inputs`, shape `(batch_size, length, hidden_dim)`, step by step.
    """
    state = inputs.new_zeros(inputs.size(0), layer.hidden_dim)
    memory = inputs.new_zeros(inputs.size(0), layer.cell_size)
    outputs = []
    for words in inputs.unbind(1):
        gates = layer.input_linearity(words) + layer.state_linearity(state)
        i, f, m, o = gates.chunk(4, dim=-1)
        memory = f.sigmoid() * memory + i.sigmoid() * m.tanh()
        memory = _clipped(memory, layer.memory_cell_clip_value)
        state = layer.state_projection(o.sigmoid() * memory.tanh())
        state = _clipped(state, layer.state_projection_clip_value)
        if isinstance(layer.layer_norm, torch.nn.LayerNorm):
            norm = layer.layer_norm
            state = layer_norm(state, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        outputs.append(state)
    return torch.stack(outputs, dim=1)


def _clipped(tensor, bound):
    return tensor if bound is None else tensor.clamp(-bound, bound)
