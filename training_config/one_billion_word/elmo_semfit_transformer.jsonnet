// ELMo-S with Transformers (Vaswani et al. 2017) in place of LSTMs, with about as many parameters.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_transformer.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_transformer_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  model+: {
    contextualizer: {
      type: 'bidirectional_language_model_adapter',
      input_dim: $.sizes.embedding_dim,
      encoder: {
        type: 'bidirectional_language_model_transformer',
        input_dim: $.sizes.hidden_dim,
        hidden_dim: 4 * $.sizes.hidden_dim,
        num_layers: std.round(9 * $.sizes.num_layers * $.sizes.cell_size / (12 * $.sizes.hidden_dim)),
        dropout: $.sizes.dropout,
        input_dropout: 0.0,
      },
    },
  },
}
