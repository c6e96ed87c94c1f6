// ELMo-S CNN: the frozen character CNN of the published ELMo gives the input and the targets. 76 million trainable
// parameters.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export ELMO_WEIGHTS_PATH=…_weights.hdf5
//   allennlp train training_config/one_billion_word/elmo_semfit_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_cnn_1b
local character_cnn_dim = 512;

(import '../language_models/elmo_semfit_cnn.jsonnet') + (import 'paper_size.libsonnet') + {
  model+: {
    text_field_embedder+: {
      token_embedders+: {
        characters+: {
          max_words: 200000,  // 410 MB
          embedder+: {
            options+: {
              char_cnn+: {
                filters: [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
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
