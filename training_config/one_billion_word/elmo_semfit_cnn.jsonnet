// ELMo-S CNN of Li et al. 2019: ELMo-S with the character CNN of a trained ELMo, frozen, for its input
// and its targets.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export ELMO_OPTIONS_PATH=…_options.json ELMO_WEIGHTS_PATH=…_weights.hdf5
//   allennlp train training_config/one_billion_word/elmo_semfit_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_cnn_1b
//
// The two files are ELMo's, as AllenNLP publishes them, or what `allennlp export-character-cnn` writes of
// an ELMo that `elmo.jsonnet` has trained. 76 million trainable parameters. It has been built, but not
// run.
(import 'elmo_semfit.jsonnet') + {
  sizes+:: { character_cnn_dim: 512, target_cache_size: 200000 },
  dataset_reader+: { token_indexers: { characters: { type: 'elmo_characters' } } },
  model+: {
    text_field_embedder: {
      token_embedders: {
        characters: {
          // So many words' vectors, 410 MB, are kept.
          type: 'cached',
          max_words: $.sizes.target_cache_size,
          embedder: {
            type: 'elmo_character_cnn',
            options_file: std.extVar('ELMO_OPTIONS_PATH'),
            weight_file: std.extVar('ELMO_WEIGHTS_PATH'),
          },
        },
      },
    },
    contextualizer+: { input_dim: $.sizes.character_cnn_dim },
    head+: { embedding_dim: $.sizes.character_cnn_dim },
  },
}
