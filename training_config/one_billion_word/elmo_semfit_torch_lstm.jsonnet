// ELMo-S with PyTorch's LSTMs: without clipping, and with layer normalisation outside of the recurrence.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_torch_lstm.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_torch_lstm_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  model+: { contextualizer+: { type: 'bidirectional_language_model_torch_lstm' } },
}
