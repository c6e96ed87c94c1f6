// Natural language inference with ESIM (Chen et al. 2017).
//
//   export SNLI_TRAIN_DATA_PATH=… SNLI_VALIDATION_DATA_PATH=… SNLI_TEST_DATA_PATH=…
//   export LM_ARCHIVE_PATH=output/elmo_semfit/model.tar.gz
//   allennlp train training_config/tasks/snli.jsonnet --include-package allennlp_semfit -s output/snli
//
// This is allennlp-models' `esim_elmo` with the language model in place of ELMo.
local language_model = { type: 'elmo_semfit', archive_file: std.extVar('LM_ARCHIVE_PATH') };

{
  language_model_dim:: 2 * 128,  // twice the language model's `hidden_dim`

  dataset_reader: {
    type: 'snli',
    // The sentences must be tokenized like the language model's corpus: this only splits them at white space.
    tokenizer: 'whitespace',
    token_indexers: { elmo_semfit: language_model },
  },
  train_data_path: std.extVar('SNLI_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('SNLI_VALIDATION_DATA_PATH'),
  test_data_path: std.extVar('SNLI_TEST_DATA_PATH'),
  evaluate_on_test: true,
  model: {
    type: 'esim',
    dropout: 0.5,
    text_field_embedder: {
      token_embedders: {
        elmo_semfit: language_model {
          dropout: 0.0,
          // The norms of a language model's vectors increase from layer to layer.
          do_layer_norm: true,
        },
      },
    },
    encoder: {
      type: 'lstm',
      input_size: $.language_model_dim,
      hidden_size: 300,
      num_layers: 1,
      bidirectional: true,
    },
    local hidden_dim = self.encoder.hidden_size,
    matrix_attention: 'dot_product',
    projection_feedforward: {
      // The word, the attended vector, their difference and their product.
      input_dim: 4 * 2 * hidden_dim,
      hidden_dims: hidden_dim,
      num_layers: 1,
      activations: 'relu',
    },
    inference_encoder: {
      type: 'lstm',
      input_size: hidden_dim,
      hidden_size: hidden_dim,
      num_layers: 1,
      bidirectional: true,
    },
    output_feedforward: {
      // Mean and maximum of both sentences.
      input_dim: 4 * 2 * hidden_dim,
      num_layers: 1,
      hidden_dims: hidden_dim,
      activations: 'relu',
      dropout: 0.5,
    },
    output_logit: { input_dim: hidden_dim, num_layers: 1, hidden_dims: 3, activations: 'linear' },
    initializer: {
      regexes: [
        ['.*linear_layers.*weight', { type: 'xavier_uniform' }],
        ['.*linear_layers.*bias', { type: 'zero' }],
        ['.*weight_ih.*', { type: 'xavier_uniform' }],
        ['.*weight_hh.*', { type: 'orthogonal' }],
        ['.*bias_ih.*', { type: 'zero' }],
        ['.*bias_hh.*', { type: 'lstm_hidden_bias' }],
      ],
      // Do not match parameters of the language model.
      prevent_regexes: ['_text_field_embedder.*'],
    },
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 32, sorting_keys: ['premise', 'hypothesis'] },
  },
  trainer: {
    optimizer: { type: 'adam', lr: 0.0004 },
    learning_rate_scheduler: { type: 'reduce_on_plateau', factor: 0.5, mode: 'max', patience: 0 },
    num_epochs: 75,
    patience: 5,
    grad_norm: 10.0,
    validation_metric: '+accuracy',
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They add hooks to every module, which a resumed run would keep.
    run_confidence_checks: false,
  },
}
