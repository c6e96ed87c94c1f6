// `sst5` at a size that one CPU core trains in minutes:
//
//   allennlp train training_config/downstream/laptop/sst5.jsonnet --include-package allennlp_semfit -s output/sst5
//
// For the Stanford Sentiment Treebank's 8,544 sentences. Their phrases, 318,582, would take hours.
(import '../sst5.jsonnet') + (import 'representations.libsonnet') + {
  sizes+:: {
    embedding_dim: 100,
    hidden_dim: 64,
    use_subtrees: false,
    batch_size: 50,
    num_epochs: 10,
    patience: 2,
  },
}
