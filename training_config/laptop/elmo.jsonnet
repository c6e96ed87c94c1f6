// `elmo` at a size that trains in less than an hour on one CPU core:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… VOCABULARY_PATH=…
//   allennlp train training_config/laptop/elmo.jsonnet --include-package allennlp_semfit -s output/elmo
(import '../one_billion_word/elmo.jsonnet') + (import 'override.libsonnet')
