// `coref` at a size that one CPU core trains in minutes:
//
//   allennlp train training_config/downstream/laptop/coref.jsonnet --include-package allennlp_semfit -s output/coref
//
// For LitBank: 80 documents of some 2,000 words, the first 12 sentences of each.
(import '../coref.jsonnet') + (import 'representations.libsonnet') + {
  sizes+:: {
    embedding_dim: 50,
    num_character_filters: 32,
    hidden_dim: 64,
    feedforward_dim: 64,
    // So that the products of two spans, which score them, are as small at first as fastText's.
    projection_dim: 100,
    // Half of the rest is dropped too, and what is left of both takes longer to learn from.
    representation_dropout: 0.0,
    max_span_width: 8,
    spans_per_word: 0.3,
    max_antecedents: 20,
    max_sentences: 12,
    num_epochs: 4,
    patience: 3,
  },
}
