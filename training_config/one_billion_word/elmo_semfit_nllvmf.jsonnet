// ELMo-S with the von Mises-Fisher loss of Kumar and Tsvetkov 2019 instead of the cosine.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_nllvmf.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_nllvmf_1b
//
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + { model+: { head+: { distance: 'nllvmf' } } }
