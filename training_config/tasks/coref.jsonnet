// Coreference resolution with the coarse-to-fine span model of Lee et al. 2018.
//
//   export COREF_TRAIN_DATA_PATH=… COREF_VALIDATION_DATA_PATH=… COREF_TEST_DATA_PATH=…
//   export LM_ARCHIVE_PATH=output/elmo_semfit/model.tar.gz
//   allennlp train training_config/tasks/coref.jsonnet --include-package allennlp_semfit -s output/coref
//
// This is AllenNLP's former `coref_elmo` (Lee et al. 2017) with the language model in place of ELMo, a word embedding from
// scratch, and what Lee et al. 2018 change: the inference, the maximum span width, the number of antecedents and the truncation
// of training documents.
local language_model = { type: 'elmo_semfit', archive_file: std.extVar('LM_ARCHIVE_PATH') };

local max_span_width = 30;

{
  language_model_dim:: 2 * 128,  // twice the language model's `hidden_dim`

  dataset_reader: {
    type: 'coref',
    token_indexers: {
      tokens: { type: 'single_id' },
      // Pad words to the filter width.
      token_characters: { type: 'characters', min_padding_length: 5 },
      elmo_semfit: language_model,
    },
    max_span_width: max_span_width,
    max_sentences: 50,  // Truncates training documents only.
    // The model cannot predict clusters of one mention. OntoNotes has none, but other corpora do.
    remove_singleton_clusters: true,
  },
  validation_dataset_reader: $.dataset_reader { max_sentences: null },
  train_data_path: std.extVar('COREF_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('COREF_VALIDATION_DATA_PATH'),
  test_data_path: std.extVar('COREF_TEST_DATA_PATH'),
  evaluate_on_test: true,
  model: {
    type: 'coref',
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: 300 },
        token_characters: {
          type: 'character_encoding',
          embedding: { embedding_dim: 16, vocab_namespace: 'token_characters' },
          encoder: { type: 'cnn', embedding_dim: 16, num_filters: 100, ngram_filter_sizes: [5] },
        },
        elmo_semfit: language_model {
          dropout: 0.5,
          // The norms of a language model's vectors increase from layer to layer.
          do_layer_norm: true,
        },
      },
    },
    context_layer: {
      type: 'lstm',
      input_size: 300 + 100 + $.language_model_dim,
      hidden_size: 200,
      num_layers: 1,
      bidirectional: true,
    },
    // Both endpoints in both directions, the width and the attended words.
    local span_dim = 2 * 2 * self.context_layer.hidden_size + self.feature_size + self.context_layer.input_size,
    mention_feedforward: {
      input_dim: span_dim,
      num_layers: 2,
      hidden_dims: 150,
      activations: 'relu',
      dropout: 0.2,
    },
    // Two spans, their product and their distance.
    antecedent_feedforward: self.mention_feedforward { input_dim: 3 * span_dim + $.model.feature_size },
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
    feature_size: 20,
    max_span_width: max_span_width,
    spans_per_word: 0.4,
    max_antecedents: 50,
    coarse_to_fine: true,
    inference_order: 2,  // One refinement of the span vectors.
  },
  // The model supports one document per batch only.
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 1, sorting_keys: ['text'], padding_noise: 0.0 },
  },
  trainer: {
    optimizer: { type: 'adam', lr: 0.001 },
    learning_rate_scheduler: { type: 'reduce_on_plateau', factor: 0.5, mode: 'max', patience: 2 },
    num_epochs: 150,
    patience: 10,
    grad_norm: 5.0,
    validation_metric: '+coref_f1',
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They add hooks to every module, which a resumed run would keep.
    run_confidence_checks: false,
  },
}
