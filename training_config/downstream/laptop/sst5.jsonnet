// `sst5` at a size that trains in minutes on one CPU core:
//
//   allennlp train training_config/downstream/laptop/sst5.jsonnet --include-package allennlp_semfit -s output/sst5
//
// For the 8,544 sentences of the Stanford Sentiment Treebank. Its 318,582 phrases would take hours.
(import '../sst5.jsonnet') + (import 'override.libsonnet') + {
  sizes+:: {
    embedding_dim: 100,
    hidden_dim: 64,
    use_subtrees: false,
    batch_size: 50,
    learning_rate: 0.002,
    num_epochs: 4,
  },
}
