// ELMo (Peters et al. 2018): a character CNN as input, LSTMs without layer norm, and a sampled softmax as output layer.
//
//   allennlp train training_config/language_models/elmo.jsonnet --include-package allennlp_semfit -s output/elmo
local config = import '../elmo_semfit.jsonnet';
local character_cnn_dim = 100;

config {
  dataset_reader+: {
    // The word indices are targets only; the model does not embed them.
    token_indexers: { characters: { type: 'elmo_characters' }, tokens: { type: 'single_id' } },
  },
  vocabulary: { min_count: { tokens: 3 } },
  datasets_for_vocab_creation: ['train'],
  model+: {
    text_field_embedder: {
      token_embedders: {
        characters: {
          type: 'character_encoding',
          // 256 bytes, and the special characters that ELMo's indexer adds.
          embedding: { num_embeddings: 262, embedding_dim: 16 },
          encoder: {
            type: 'cnn-highway',
            activation: 'relu',
            embedding_dim: 16,
            filters: [[1, 16], [2, 16], [3, 32], [4, 64], [5, 128]],  // [width, number]
            num_highway: 1,
            projection_dim: character_cnn_dim,
            projection_location: 'after_highway',
          },
        },
        tokens: { type: 'empty' },
      },
    },
    contextualizer+: { input_dim: character_cnn_dim, layer_norm: false },
    head: { type: 'sampled_softmax', input_dim: $.hidden_dim, num_samples: 1024 },
  },
  trainer+: { validation_metric: '-perplexity' },
}
