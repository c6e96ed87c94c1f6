// A control: the targets are random vectors, so the output layer has no information from fastText. The input vectors are
// those of fastText.
//
//   allennlp count-vocabulary data/sample/train data/sample/vocabulary --min-count 3
//   allennlp train training_config/language_models/elmo_semfit_random.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_random
local config = import '../elmo_semfit.jsonnet';

config {
  dataset_reader+: { token_indexers+: { tokens: { type: 'single_id' } } },
  vocabulary: { type: 'from_files', directory: $.corpus + '/vocabulary' },
  model+: {
    text_field_embedder+: { token_embedders+: { tokens: { type: 'empty' } } },
    head+: {
      target_embedder: {
        type: 'embedding',
        embedding_dim: $.embedding_dim,
        trainable: false,
      },
      target_indexer: 'tokens',
    },
  },
}
