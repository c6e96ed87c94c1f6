// A control: the targets are random vectors, so the output layer has no information from fastText. The input vectors are
// those of fastText.
//
//   allennlp train training_config/language_models/elmo_semfit_random.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_random
local config = import '../elmo_semfit.jsonnet';

config {
  dataset_reader+: { token_indexers+: { tokens: { type: 'single_id' } } },
  vocabulary: { min_count: { tokens: 3 } },
  datasets_for_vocab_creation: ['train'],
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
