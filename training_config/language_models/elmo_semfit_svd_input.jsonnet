// No fastText: the vectors from the SVD of elmo_semfit_svd.jsonnet are the input and the targets. All words without a row
// in the table have the vector of @@UNKNOWN@@.
//
//   allennlp train-svd data/sample/train data/sample/svd.txt --vocabulary-dir data/sample/svd_vocabulary --dim 100
//   allennlp train training_config/language_models/elmo_semfit_svd_input.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_svd_input
local config = import '../elmo_semfit.jsonnet';

config {
  dataset_reader+: { token_indexers: { tokens: { type: 'single_id' } } },
  vocabulary: { type: 'from_files', directory: $.corpus + '/svd_vocabulary' },
  model+: {
    text_field_embedder: {
      token_embedders: {
        tokens: {
          type: 'embedding',
          embedding_dim: $.embedding_dim,
          pretrained_file: $.corpus + '/svd.txt',
          trainable: false,
        },
      },
    },
  },
}
