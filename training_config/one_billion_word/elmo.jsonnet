// ELMo (Peters et al. 2018): ELMo-S with a character CNN as input and a sampled softmax as output layer.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export VOCABULARY_PATH=data/one_billion_word/vocabulary
//   allennlp count-vocabulary "$ONE_BILLION_WORD/training-monolingual.tokenized.shuffled" $VOCABULARY_PATH --min-count 3
//   allennlp train training_config/one_billion_word/elmo.jsonnet --include-package allennlp_semfit -s output/elmo_1b
//
// 501 million trainable parameters with ELMo's vocabulary of 793,471 words; the paper has 499. The
// original ELMo has no layer norm in its LSTMs (`layer_norm: false` in the contextualizer). In the
// paper, a sixth of the sentences of ELMo-S fit on a GPU: see elmo_semfit.jsonnet for smaller batches.
// The model has been built but not trained.
(import 'elmo_semfit.jsonnet') + (import '../lib/vocabulary.libsonnet') + {
  sizes+:: {
    character_embedding_dim: 16,
    // [width, number of filters]
    filters: [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
    num_highway: 2,
    character_cnn_dim: 512,
    num_samples: 8192,
  },
  dataset_reader+: {
    token_indexers: { characters: { type: 'elmo_characters' }, tokens: { type: 'single_id' } },
  },
  model+: {
    text_field_embedder: {
      token_embedders: {
        characters: {
          type: 'character_encoding',
          // 256 bytes, and the special characters that ELMo's indexer adds.
          embedding: { num_embeddings: 262, embedding_dim: $.sizes.character_embedding_dim },
          encoder: {
            type: 'cnn-highway',
            activation: 'relu',
            embedding_dim: $.sizes.character_embedding_dim,
            filters: $.sizes.filters,
            num_highway: $.sizes.num_highway,
            projection_dim: $.sizes.character_cnn_dim,
            projection_location: 'after_highway',
          },
        },
        tokens: { type: 'empty' },
      },
    },
    contextualizer+: { input_dim: $.sizes.character_cnn_dim },
    head: {
      type: 'sampled_softmax',
      input_dim: $.sizes.hidden_dim,
      num_samples: $.sizes.num_samples,
    },
  },
}
