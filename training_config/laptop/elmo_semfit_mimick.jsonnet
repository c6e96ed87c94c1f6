// `elmo_semfit_mimick` at a size that trains in less than an hour on one CPU core, for a table of 100
// dimensions:
//
//   export LM_TRAIN_DATA_PATH=… LM_DEV_DATA_PATH=… TABLE_PATH=… MIMICK_ARCHIVE_PATH=…/model.tar.gz
//   allennlp train training_config/laptop/elmo_semfit_mimick.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_mimick
(import '../one_billion_word/elmo_semfit_mimick.jsonnet') + (import 'override.libsonnet')
