// Transformers (Vaswani et al. 2017) in place of LSTMs, with about as many parameters.
//
//   allennlp train training_config/language_models/elmo_semfit_transformer.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_transformer
local config = import '../elmo_semfit.jsonnet';
local lstm = config.model.contextualizer;

config {
  model+: {
    contextualizer: {
      type: 'bidirectional_language_model_adapter',
      input_dim: $.embedding_dim,
      encoder: {
        type: 'bidirectional_language_model_transformer',
        input_dim: $.hidden_dim,
        hidden_dim: 4 * $.hidden_dim,
        // A layer of an LSTM has 9 matrices of `cell_size` × `hidden_dim`, one of a Transformer 12 of `hidden_dim` squared.
        num_layers: std.max(1, std.round(9 * lstm.num_layers * lstm.cell_size / (12 * $.hidden_dim))),
        dropout: lstm.dropout,
        input_dropout: 0.0,
      },
    },
  },
}
