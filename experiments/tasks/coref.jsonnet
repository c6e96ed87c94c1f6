// LitBank: the first 12 sentences of 80 documents of about 2,000 words.
local words = import '../representations.libsonnet';

(import '../../training_config/tasks/coref.jsonnet') + (import 'short_training.libsonnet') + {
  // Projected, so that the initial products of span vectors are as small as with fastText. Another dropout of 0.5 follows, and
  // training with both is slower.
  local is_projected = std.startsWith(std.extVar('WORD_REPRESENTATION'), 'elmo_semfit'),
  local dim = if is_projected then words.dim - 2 * 128 + 100 else words.dim,

  dataset_reader+: { token_indexers+: words.indexers, max_span_width: 8, max_sentences: 12 },
  model+: {
    text_field_embedder+: {
      token_embedders+: { elmo_semfit+: { dropout: 0.0, projection_dim: 100 } } + words.embedders {
        tokens+: { embedding_dim: 50 },
        token_characters+: { encoder+: { num_filters: 32 } },
      },
    },
    context_layer+: { input_size: 50 + 32 + dim, hidden_size: 64 },
    mention_feedforward+: { hidden_dims: 64 },
    max_span_width: 8,
    spans_per_word: 0.3,
    max_antecedents: 20,
  },
  trainer+: { optimizer+: { lr: 0.002 }, num_epochs: 4 },
}
