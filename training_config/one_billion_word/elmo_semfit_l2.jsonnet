// ELMo-S with the squared distance for its loss, in place of the cosine.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_l2.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_l2_1b
//
// It has been built, but not run.
(import 'elmo_semfit.jsonnet') + { model+: { head+: { distance: 'l2' } } }
