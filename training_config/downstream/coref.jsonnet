// Coreference: spans, scored from coarse to fine and refined once (Lee et al. 2018), on the words'
// vectors, a word embedding and a CNN of the characters.
//
//   export COREF_TRAIN_DATA_PATH=… COREF_DEV_DATA_PATH=… COREF_TEST_DATA_PATH=…
//   export WORD_REPRESENTATION=elmo_semfit LM_ARCHIVE_PATH=…
//   allennlp train training_config/downstream/coref.jsonnet --include-package allennlp_semfit -s output/coref
//
// Hyper-parameters of AllenNLP's `coref_elmo`, which is Lee et al. 2017, and of Lee et al. 2018 for what
// that paper changes: the inference, the width of the spans, the number of antecedents, the cut of
// training documents. README.md, beside this, says what to set for other representations, and
// where data is.
local downstream_task = import '../lib/downstream_task.libsonnet';
local word_representation = import '../lib/word_representation.libsonnet';

downstream_task('COREF') + {
  local words = word_representation($.sizes, dropout=$.sizes.representation_dropout),
  local word_dim = $.sizes.embedding_dim + $.sizes.num_character_filters + words.dim,
  // Its two ends, read in both directions; its width; its words.
  local span_dim = 2 * 2 * $.sizes.hidden_dim + $.sizes.feature_dim + word_dim,
  // Two spans, their product, and how far apart they are.
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
    // Of what has a context, before the dropout of all that stands for a word.
    representation_dropout: 0.5,
    max_span_width: 30,
    spans_per_word: 0.4,
    max_antecedents: 50,
    // Of a training document, its beginning; other documents are read to their end.
    max_sentences: 50,
    num_epochs: 150,
    patience: 10,
  },
  dataset_reader: {
    type: 'coref',
    token_indexers: {
      tokens: { type: 'single_id' },
      // No word is shorter than the filters are wide.
      token_characters: { type: 'characters', min_padding_length: 5 },
    } + words.indexers,
    max_span_width: $.sizes.max_span_width,
    max_sentences: $.sizes.max_sentences,
    // OntoNotes has no cluster of one mention; other corpora do, and the model cannot predict one.
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
      // A trained language model may have parameters of such names too.
      prevent_regexes: ['_text_field_embedder.*'],
    },
    lexical_dropout: 0.5,
    feature_size: $.sizes.feature_dim,
    max_span_width: $.sizes.max_span_width,
    spans_per_word: $.sizes.spans_per_word,
    max_antecedents: $.sizes.max_antecedents,
    coarse_to_fine: true,
    // The spans' vectors are updated once.
    inference_order: 2,
  },
  data_loader: {
    batch_sampler: {
      type: 'bucket',
      // The coreference scorer takes a document at a time.
      batch_size: 1,
      sorting_keys: ['text'],
      padding_noise: 0.0,
    },
  },
  trainer+: {
    optimizer: { type: 'adam' },
    learning_rate_scheduler: { type: 'reduce_on_plateau', factor: 0.5, mode: 'max', patience: 2 },
    grad_norm: 5.0,
    validation_metric: '+coref_f1',
  },
}
