// ELMo-S with SRUs in place of LSTMs, with about as many parameters.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_sru.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_sru_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  model+: {
    contextualizer+: {
      type: 'bidirectional_language_model_sru',
      // Twice as many layers as of LSTMs, because an SRU has no recurrent matrix.
      num_layers: 2 * $.sizes.num_layers,
      cell_size: std.floor($.sizes.cell_size * 7 / 8),
    },
  },
}
