// Semantic role labeling with the alternating LSTM of He et al. 2017.
//
//   export SRL_TRAIN_DATA_PATH=… SRL_VALIDATION_DATA_PATH=… SRL_TEST_DATA_PATH=…
//   export LM_ARCHIVE_PATH=output/elmo_semfit/model.tar.gz
//   allennlp train training_config/tasks/srl.jsonnet --include-package allennlp_semfit -s output/srl
//
// This is allennlp-models' `srl_elmo` with the language model in place of ELMo. The official scorer needs Perl.
local language_model = { type: 'elmo_semfit', archive_file: std.extVar('LM_ARCHIVE_PATH') };

{
  language_model_dim:: 2 * 128,  // twice the language model's `hidden_dim`

  dataset_reader: { type: 'srl', token_indexers: { elmo_semfit: language_model } },
  train_data_path: std.extVar('SRL_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('SRL_VALIDATION_DATA_PATH'),
  test_data_path: std.extVar('SRL_TEST_DATA_PATH'),
  evaluate_on_test: true,
  model: {
    type: 'srl',
    text_field_embedder: {
      token_embedders: {
        elmo_semfit: language_model {
          dropout: 0.1,
          // The norms of a language model's vectors increase from layer to layer.
          do_layer_norm: true,
        },
      },
    },
    encoder: {
      type: 'alternating_lstm',
      input_size: $.language_model_dim + 100,
      hidden_size: 300,
      num_layers: 8,
      recurrent_dropout_probability: 0.1,
      use_input_projection_bias: false,
    },
    binary_feature_dim: 100,
    initializer: { regexes: [['tag_projection_layer.*weight', { type: 'orthogonal' }]] },
    // The layer weights of the scalar mix.
    regularizer: { regexes: [['.*scalar_parameters.*', { type: 'l2', alpha: 0.001 }]] },
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 80, sorting_keys: ['tokens'] },
  },
  trainer: {
    optimizer: { type: 'adadelta', lr: 1.0, rho: 0.95 },
    num_epochs: 500,
    patience: 200,
    grad_clipping: 1.0,
    validation_metric: '+f1-measure-overall',
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They add hooks to every module, which a resumed run would keep.
    run_confidence_checks: false,
  },
}
