// ELMo-A of Li et al. 2019: an adaptive softmax as output layer.
//
//   allennlp train training_config/language_models/elmo_adaptive.jsonnet --include-package allennlp_semfit -s output/elmo_adaptive
local config = import '../elmo_semfit.jsonnet';

config {
  // The word indices are targets only; the model does not embed them.
  dataset_reader+: { token_indexers+: { tokens: { type: 'single_id' } } },
  vocabulary: { min_count: { tokens: 3 } },
  datasets_for_vocab_creation: ['train'],
  model+: {
    text_field_embedder+: { token_embedders+: { tokens: { type: 'empty' } } },
    head: {
      type: 'adaptive_softmax',
      input_dim: $.hidden_dim,
      cutoffs: [2000, 10000],
      div_value: 2.0,
    },
  },
  trainer+: { validation_metric: '-perplexity' },
}
