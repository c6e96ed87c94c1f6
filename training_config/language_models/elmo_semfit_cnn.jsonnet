// ELMo-S CNN of Li et al. 2019: the frozen character CNN of a trained ELMo (elmo.jsonnet) gives the input and the targets.
//
//   allennlp export-character-cnn output/elmo/model.tar.gz output/character_cnn
//   allennlp train training_config/language_models/elmo_semfit_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_cnn
local config = import '../elmo_semfit.jsonnet';
local elmo = import 'elmo.jsonnet';
local cnn = elmo.model.text_field_embedder.token_embedders.characters.encoder;

config {
  dataset_reader+: { token_indexers: { characters: { type: 'elmo_characters' } } },
  model+: {
    text_field_embedder: {
      token_embedders: {
        characters: {
          type: 'cached',
          max_words: 100000,
          embedder: {
            type: 'elmo_character_cnn',
            // As in output/character_cnn/options.json
            options: {
              char_cnn: {
                activation: 'relu',
                embedding: { dim: cnn.embedding_dim },
                filters: cnn.filters,
                max_characters_per_token: 50,
                n_highway: cnn.num_highway,
              },
              lstm: { projection_dim: cnn.projection_dim },
            },
            pretrained_file: 'output/character_cnn/weights.hdf5',
          },
        },
      },
    },
    contextualizer+: { input_dim: cnn.projection_dim },
    head+: { embedding_dim: cnn.projection_dim },
  },
}
