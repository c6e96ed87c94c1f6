// `elmo_subword` at a size that trains in less than an hour on one CPU core:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… SUBWORDS_PATH=…
//   allennlp train training_config/laptop/elmo_subword.jsonnet --include-package allennlp_semfit -s output/elmo_subword
(import '../one_billion_word/elmo_subword.jsonnet') + (import 'override.libsonnet')
