// `coref` at a size that trains in minutes on one CPU core:
//
//   allennlp train training_config/downstream/laptop/coref.jsonnet --include-package allennlp_semfit -s output/coref
//
// For LitBank: the first 12 sentences of 80 documents of about 2,000 words.
(import '../coref.jsonnet') + (import 'override.libsonnet') + {
  sizes+:: {
    embedding_dim: 50,
    num_character_filters: 32,
    hidden_dim: 64,
    feedforward_dim: 64,
    // Makes the initial products of span vectors as small as with fastText.
    projection_dim: 100,
    // Another dropout of 0.5 follows, and training with both is slower.
    representation_dropout: 0.0,
    max_span_width: 8,
    spans_per_word: 0.3,
    max_antecedents: 20,
    max_sentences: 12,
    learning_rate: 0.002,
    num_epochs: 4,
  },
}
