// ELMo-S CNN: the frozen character CNN of the published ELMo gives the input and the targets. 76 million trainable
// parameters.
//
//   export ONE_BILLION_WORD=…/1-billion-word-language-modeling-benchmark-r13output
//   export ELMO_WEIGHTS_PATH=…/elmo_2x4096_512_2048cnn_2xhighway_weights.hdf5
//   allennlp train training_config/one_billion_word/elmo_semfit_cnn.jsonnet --include-package allennlp_semfit -s output/elmo_semfit_cnn_1b
(import '../language_models/elmo_semfit_cnn.jsonnet') + (import 'paper_size.libsonnet') + {
  model+: {
    text_field_embedder+: { token_embedders+: { characters+: { max_words: 200000 } } },  // 410 MB
  },
}
