// `masked_lm` at a size that trains in less than an hour on one CPU core:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… FASTTEXT_MODEL_PATH=…
//   allennlp train training_config/laptop/masked_lm.jsonnet --include-package allennlp_semfit -s output/masked_lm
(import '../one_billion_word/masked_lm.jsonnet') + (import 'override.libsonnet')
