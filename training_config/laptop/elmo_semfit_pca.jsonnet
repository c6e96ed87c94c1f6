// `elmo_semfit_pca` at a size that trains in less than an hour on one CPU core:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… SVD_PATH=… VOCABULARY_PATH=… FASTTEXT_MODEL_PATH=…
//   allennlp train-svd "$LM_TRAIN_DATA_PATH" $SVD_PATH --pca-of $FASTTEXT_MODEL_PATH --dim 50 --vocabulary-dir $VOCABULARY_PATH
//   allennlp train training_config/laptop/elmo_semfit_pca.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_pca
(import '../one_billion_word/elmo_semfit_pca.jsonnet') + (import 'override.libsonnet')
