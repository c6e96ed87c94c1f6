// Coreference resolution with the coarse-to-fine span model of Lee et al. 2018. Input: the chosen word
// representation, a word embedding and a character CNN.
//
//   export COREF_TRAIN_DATA_PATH=… COREF_DEV_DATA_PATH=… COREF_TEST_DATA_PATH=…
//   export WORD_REPRESENTATION=elmo_semfit LM_ARCHIVE_PATH=…
//   allennlp train training_config/downstream/coref.jsonnet --include-package allennlp_semfit -s output/coref
//
// The hyper-parameters are those of AllenNLP's `coref_elmo` (Lee et al. 2017), except for what Lee et
// al. 2018 changes: the inference, the maximum span width, the number of antecedents and the truncation
// of training documents. See README.md for other representations and where to get data.
local downstream_task = import '../lib/downstream_task.libsonnet';
local word_representation = import '../lib/word_representation.libsonnet';

downstream_task('COREF', sorting_keys=['text']) + {
  local words = word_representation($.sizes, dropout=$.sizes.representation_dropout),
  local word_dim = $.sizes.embedding_dim + $.sizes.num_character_filters + words.dim,
  // Both endpoints in both directions, the width and the attended words.
  local span_dim = 2 * 2 * $.sizes.hidden_dim + $.sizes.feature_dim + word_dim,
  // Two spans, their product and their distance.
  local pair_dim = 3 * span_dim + $.sizes.feature_dim,
  local feedforward = {
    num_layers: 2,
    hidden_dims: $.sizes.feedforward_dim,
    activations: 'relu',
    dropout: 0.2,
  },

  sizes+:: {
    embedding_dim: 300,
    character_embedding_dim: 16,
    num_character_filters: 100,
    hidden_dim: 200,
    feedforward_dim: 150,
    feature_dim: 20,
    // Dropout of contextual vectors, before the dropout of the whole word representation.
    representation_dropout: 0.5,
    max_span_width: 30,
    spans_per_word: 0.4,
    max_antecedents: 50,
    // Truncates training documents only.
    max_sentences: 50,
    learning_rate: 0.001,
    num_epochs: 150,
    patience: 10,
  },
  dataset_reader: {
    type: 'coref',
    token_indexers: {
      tokens: { type: 'single_id' },
      // Pad words to the filter width.
      token_characters: { type: 'characters', min_padding_length: 5 },
    } + words.indexers,
    max_span_width: $.sizes.max_span_width,
    max_sentences: $.sizes.max_sentences,
    // The model cannot predict clusters of one mention. OntoNotes has none, but other corpora do.
    remove_singleton_clusters: true,
  },
  validation_dataset_reader: $.dataset_reader { max_sentences: null },
  model: {
    type: 'coref',
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: $.sizes.embedding_dim },
        token_characters: {
          type: 'character_encoding',
          embedding: {
            embedding_dim: $.sizes.character_embedding_dim,
            vocab_namespace: 'token_characters',
          },
          encoder: {
            type: 'cnn',
            embedding_dim: $.sizes.character_embedding_dim,
            num_filters: $.sizes.num_character_filters,
            ngram_filter_sizes: [5],
          },
        },
      } + words.embedders,
    },
    context_layer: {
      type: 'lstm',
      input_size: word_dim,
      hidden_size: $.sizes.hidden_dim,
      num_layers: 1,
      bidirectional: true,
    },
    mention_feedforward: feedforward { input_dim: span_dim },
    antecedent_feedforward: feedforward { input_dim: pair_dim },
    initializer: {
      regexes: [
        ['.*linear_layers.*weight', { type: 'xavier_normal' }],
        ['.*scorer.*weight', { type: 'xavier_normal' }],
        ['.*_span_updating_gated_sum.*weight', { type: 'xavier_normal' }],
        ['_distance_embedding.weight', { type: 'xavier_normal' }],
        ['.*_span_width_embedding.weight', { type: 'xavier_normal' }],
        ['_context_layer._module.weight_ih.*', { type: 'xavier_normal' }],
        ['_context_layer._module.weight_hh.*', { type: 'orthogonal' }],
      ],
      // Do not match parameters of the language model.
      prevent_regexes: ['_text_field_embedder.*'],
    },
    lexical_dropout: 0.5,
    feature_size: $.sizes.feature_dim,
    max_span_width: $.sizes.max_span_width,
    spans_per_word: $.sizes.spans_per_word,
    max_antecedents: $.sizes.max_antecedents,
    coarse_to_fine: true,
    // One refinement of the span vectors.
    inference_order: 2,
  },
  // The model supports one document per batch only.
  data_loader+: { batch_sampler+: { batch_size: 1, padding_noise: 0.0 } },
  trainer+: {
    learning_rate_scheduler: { type: 'reduce_on_plateau', factor: 0.5, mode: 'max', patience: 2 },
    grad_norm: 5.0,
    validation_metric: '+coref_f1',
  },
}
