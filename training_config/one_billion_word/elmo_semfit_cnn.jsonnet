// ELMo-S CNN of Li et al. 2019: ELMo-S with the frozen character CNN of a trained ELMo as its input and
// its targets.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export ELMO_WEIGHTS_PATH=…_weights.hdf5
//   allennlp train training_config/one_billion_word/elmo_semfit_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_cnn_1b
//
// ELMO_WEIGHTS_PATH has ELMo's weights as published by AllenNLP, or as exported with `allennlp
// export-character-cnn` from a model trained with `elmo.jsonnet`. 76 million trainable parameters. The
// model has been built but not trained.
(import 'elmo_semfit.jsonnet') + {
  // The sizes of the published ELMo. The weights must have them.
  sizes+:: {
    character_embedding_dim: 16,
    filters: [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
    num_highway: 2,
    character_cnn_dim: 512,
    target_cache_size: 200000,
  },
  dataset_reader+: { token_indexers: { characters: { type: 'elmo_characters' } } },
  model+: {
    text_field_embedder: {
      token_embedders: {
        characters: {
          // Caches `max_words` vectors: 410 MB.
          type: 'cached',
          max_words: $.sizes.target_cache_size,
          embedder: {
            type: 'elmo_character_cnn',
            options: {
              char_cnn: {
                activation: 'relu',
                embedding: { dim: $.sizes.character_embedding_dim },
                filters: $.sizes.filters,
                max_characters_per_token: 50,
                n_highway: $.sizes.num_highway,
              },
              lstm: { projection_dim: $.sizes.character_cnn_dim },
            },
            pretrained_file: std.extVar('ELMO_WEIGHTS_PATH'),
          },
        },
      },
    },
    contextualizer+: { input_dim: $.sizes.character_cnn_dim },
    head+: { embedding_dim: $.sizes.character_cnn_dim },
  },
}
