// ELMo-S with gated convolutions (Dauphin et al. 2017) in place of LSTMs, with about as many parameters.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_gated_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_gated_cnn_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  model+: {
    contextualizer: {
      type: 'bidirectional_language_model_adapter',
      input_dim: $.sizes.embedding_dim,
      encoder: {
        type: 'gated-cnn-encoder',
        input_dim: $.sizes.hidden_dim,
        local width = 5,
        // An LSTM has 9 matrices of this size for each of the 2 of a convolution.
        local num_layers =
          std.round(9 * $.sizes.num_layers * $.sizes.cell_size / (2 * width * $.sizes.hidden_dim)),
        layers: std.makeArray(num_layers, function(_) [[width, $.sizes.hidden_dim]]),
        dropout: $.sizes.dropout,
      },
    },
  },
}
