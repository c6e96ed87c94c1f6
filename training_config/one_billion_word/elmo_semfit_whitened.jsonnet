// ELMo-S with whitened targets, which is not in the paper. The training text must be in random
// order.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_whitened.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_whitened_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + { model+: { head+: { whiten_targets: true } } }
