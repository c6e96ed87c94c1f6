// `srl` at a size that trains in minutes on one CPU core:
//
//   allennlp train training_config/downstream/laptop/srl.jsonnet --include-package allennlp_semfit -s output/srl
//
// For PropBank on the English Web Treebank: the first 8,000 of its 40,000 frames.
(import '../srl.jsonnet') + (import 'override.libsonnet') + {
  sizes+:: {
    binary_feature_dim: 32,
    hidden_dim: 64,
    num_layers: 2,
    max_instances: 8000,
    batch_size: 40,
    learning_rate: 0.006,
    num_epochs: 6,
  },
}
