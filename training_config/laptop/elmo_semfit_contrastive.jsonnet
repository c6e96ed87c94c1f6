// `elmo_semfit_contrastive` at a size that trains in less than an hour on one CPU core:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… FASTTEXT_MODEL_PATH=…
//   allennlp train training_config/laptop/elmo_semfit_contrastive.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_contrastive
(import '../one_billion_word/elmo_semfit_contrastive.jsonnet') + (import 'override.libsonnet')
