// `elmo_adaptive` at a size that trains in less than an hour on one CPU core:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… VOCABULARY_PATH=… FASTTEXT_MODEL_PATH=…
//   allennlp train training_config/laptop/elmo_adaptive.jsonnet --include-package allennlp_semfit -s output/elmo_adaptive
(import '../one_billion_word/elmo_adaptive.jsonnet') + (import 'override.libsonnet')
