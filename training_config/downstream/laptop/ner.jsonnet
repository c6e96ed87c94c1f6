// `ner` at a size that trains in minutes on one CPU core:
//
//   allennlp train training_config/downstream/laptop/ner.jsonnet --include-package allennlp_semfit -s output/ner
//
// For WNUT-17: 3,394 sentences.
(import '../ner.jsonnet') + (import 'override.libsonnet') + {
  sizes+:: {
    hidden_dim: 64,
    num_layers: 1,
    num_character_filters: 64,
    batch_size: 32,
    learning_rate: 0.003,
    num_epochs: 8,
  },
}
