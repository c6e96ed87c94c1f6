// Named entity recognition with a BiLSTM-CRF tagger (Peters et al. 2018).
//
//   export NER_TRAIN_DATA_PATH=… NER_VALIDATION_DATA_PATH=… NER_TEST_DATA_PATH=…
//   export LM_ARCHIVE_PATH=output/elmo_semfit/model.tar.gz
//   allennlp train training_config/tasks/ner.jsonnet --include-package allennlp_semfit -s output/ner
//
// This is allennlp-models' `ner_elmo` with the language model in place of ELMo, and a word embedding from scratch.
local language_model = { type: 'elmo_semfit', archive_file: std.extVar('LM_ARCHIVE_PATH') };

{
  language_model_dim:: 2 * 128,  // twice the language model's `hidden_dim`

  dataset_reader: {
    type: 'conll2003',
    tag_label: 'ner',
    convert_to_coding_scheme: 'BIOUL',
    token_indexers: {
      tokens: { type: 'single_id', lowercase_tokens: true },
      // Pad words to the filter width.
      token_characters: { type: 'characters', min_padding_length: 3 },
      elmo_semfit: language_model,
    },
  },
  train_data_path: std.extVar('NER_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('NER_VALIDATION_DATA_PATH'),
  test_data_path: std.extVar('NER_TEST_DATA_PATH'),
  evaluate_on_test: true,
  model: {
    type: 'crf_tagger',
    label_encoding: 'BIOUL',
    dropout: 0.5,
    include_start_end_transitions: false,
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: 50 },
        token_characters: {
          type: 'character_encoding',
          embedding: { embedding_dim: 16, vocab_namespace: 'token_characters' },
          encoder: {
            type: 'cnn',
            embedding_dim: 16,
            num_filters: 128,
            ngram_filter_sizes: [3],
            conv_layer_activation: 'relu',
          },
        },
        elmo_semfit: language_model {
          dropout: 0.0,
          // The norms of a language model's vectors increase from layer to layer.
          do_layer_norm: true,
        },
      },
    },
    encoder: {
      type: 'lstm',
      input_size: 50 + 128 + $.language_model_dim,
      hidden_size: 200,
      num_layers: 2,
      dropout: 0.5,
      bidirectional: true,
    },
    // The layer weights of the scalar mix.
    regularizer: { regexes: [['scalar_parameters', { type: 'l2', alpha: 0.1 }]] },
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 64, sorting_keys: ['tokens'] },
  },
  trainer: {
    optimizer: { type: 'adam', lr: 0.001 },
    num_epochs: 75,
    patience: 25,
    grad_norm: 5.0,
    validation_metric: '+f1-measure-overall',
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They add hooks to every module, which a resumed run would keep.
    run_confidence_checks: false,
  },
}
