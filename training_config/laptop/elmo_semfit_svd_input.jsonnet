// `elmo_semfit_svd_input` at a size that trains in less than an hour on one CPU core:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… SVD_PATH=… VOCABULARY_PATH=…
//   allennlp train-svd "$LM_TRAIN_DATA_PATH" $SVD_PATH --vocabulary-dir $VOCABULARY_PATH --dim 100
//   allennlp train training_config/laptop/elmo_semfit_svd_input.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_svd_input
(import '../one_billion_word/elmo_semfit_svd_input.jsonnet') + (import 'override.libsonnet')
