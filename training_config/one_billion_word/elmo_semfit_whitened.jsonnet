// ELMo-S whose targets are whitened: what all words' vectors have in common is taken from them, and what
// tells the words apart is left. Not in the paper; docs/results.md has what it is worth at a laptop's
// size. The training text must be in random order.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export FASTTEXT_MODEL_PATH=…/cc.en.300.bin
//   allennlp train training_config/one_billion_word/elmo_semfit_whitened.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_whitened_1b
//
// It has been built, but not run.
(import 'elmo_semfit.jsonnet') + { model+: { head+: { whiten_targets: true } } }
