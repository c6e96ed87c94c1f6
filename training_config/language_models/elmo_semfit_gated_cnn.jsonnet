// Gated convolutions (Dauphin et al. 2017) in place of LSTMs, with about as many parameters.
//
//   allennlp train training_config/language_models/elmo_semfit_gated_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_gated_cnn
local config = import '../elmo_semfit.jsonnet';
local lstm = config.model.contextualizer;
local width = 5;

config {
  // A layer of an LSTM has 9 matrices of `cell_size` × `hidden_dim`.
  local num_layers = std.max(1, std.round(9 * lstm.num_layers * lstm.cell_size / (2 * width * $.hidden_dim))),

  model+: {
    contextualizer: {
      type: 'bidirectional_language_model_adapter',
      input_dim: $.embedding_dim,
      encoder: {
        type: 'gated-cnn-encoder',
        input_dim: $.hidden_dim,
        layers: std.repeat([[[width, $.hidden_dim]]], num_layers),
        dropout: lstm.dropout,
      },
    },
  },
}
