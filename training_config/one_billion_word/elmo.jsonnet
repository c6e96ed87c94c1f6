// ELMo (Peters et al. 2018): 501 million trainable parameters with its vocabulary of 793,471 words; the paper has 499.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   allennlp train training_config/one_billion_word/elmo.jsonnet --include-package allennlp_semfit -s output/elmo_1b
local character_cnn_dim = 512;

(import '../language_models/elmo.jsonnet') + (import 'paper_size.libsonnet') + {
  model+: {
    text_field_embedder+: {
      token_embedders+: {
        characters+: {
          encoder+: {
            filters: [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
            num_highway: 2,
            projection_dim: character_cnn_dim,
          },
        },
      },
    },
    contextualizer+: { input_dim: character_cnn_dim },
    head+: { num_samples: 8192 },
  },
}
