// `snli` at a size that trains in minutes on one CPU core:
//
//   allennlp train training_config/downstream/laptop/snli.jsonnet --include-package allennlp_semfit -s output/snli
//
// For the 8,330 augmented pairs, or twice as many. For so few, use less dropout and a higher learning rate.
(import '../snli.jsonnet') + (import 'override.libsonnet') + {
  sizes+:: {
    embedding_dim: 100,
    hidden_dim: 64,
    dropout: 0.2,
    batch_size: 64,
    learning_rate: 0.004,
    num_epochs: 8,
  },
}
