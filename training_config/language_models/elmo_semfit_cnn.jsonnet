// ELMo-S CNN of Li et al. 2019: the frozen character CNN of the published ELMo gives the input and the targets.
//
//   export ELMO_WEIGHTS_PATH=…/elmo_2x4096_512_2048cnn_2xhighway_weights.hdf5
//   allennlp train training_config/language_models/elmo_semfit_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_cnn
local character_cnn_dim = 512;

(import '../elmo_semfit.jsonnet') + {
  dataset_reader+: { token_indexers: { characters: { type: 'elmo_characters' } } },
  model+: {
    text_field_embedder: {
      token_embedders: {
        characters: {
          type: 'cached',
          max_words: 100000,  // 205 MB
          embedder: {
            type: 'elmo_character_cnn',
            options: {
              char_cnn: {
                activation: 'relu',
                embedding: { dim: 16 },
                filters: [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
                max_characters_per_token: 50,
                n_highway: 2,
              },
              lstm: { projection_dim: character_cnn_dim },
            },
            pretrained_file: std.extVar('ELMO_WEIGHTS_PATH'),
          },
        },
      },
    },
    contextualizer+: { input_dim: character_cnn_dim },
    head+: { embedding_dim: character_cnn_dim },
  },
}
