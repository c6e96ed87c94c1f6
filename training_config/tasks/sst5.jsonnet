// Sentiment classification into five classes with the biattentive classification network (McCann et al. 2017).
//
//   export SST_TRAIN_DATA_PATH=… SST_VALIDATION_DATA_PATH=… SST_TEST_DATA_PATH=…
//   export LM_ARCHIVE_PATH=output/elmo_semfit/model.tar.gz
//   allennlp train training_config/tasks/sst5.jsonnet --include-package allennlp_semfit -s output/sst5
//
// This is allennlp-models' `biattentive_classification_network_elmo` with the language model in place of ELMo, and a word
// embedding from scratch.
local language_model = { type: 'elmo_semfit', archive_file: std.extVar('LM_ARCHIVE_PATH') };

{
  language_model_dim:: 2 * 128,  // twice the language model's `hidden_dim`

  dataset_reader: {
    type: 'sst_tokens',
    granularity: '5-class',
    use_subtrees: true,  // Train on all labeled phrases of the trees.
    token_indexers: { tokens: { type: 'single_id' }, elmo_semfit: language_model },
  },
  validation_dataset_reader: $.dataset_reader { use_subtrees: false },
  train_data_path: std.extVar('SST_TRAIN_DATA_PATH'),
  validation_data_path: std.extVar('SST_VALIDATION_DATA_PATH'),
  test_data_path: std.extVar('SST_TEST_DATA_PATH'),
  evaluate_on_test: true,
  model: {
    type: 'bcn',
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'embedding', embedding_dim: 300 },
        elmo_semfit: language_model {
          dropout: 0.0,
          // The norms of a language model's vectors increase from layer to layer.
          do_layer_norm: true,
        },
      },
    },
    embedding_dropout: 0.5,
    pre_encode_feedforward: {
      input_dim: 300 + $.language_model_dim,
      num_layers: 1,
      hidden_dims: [hidden_dim],
      activations: ['relu'],
      dropout: [0.25],
    },
    encoder: {
      type: 'lstm',
      input_size: hidden_dim,
      hidden_size: 300,
      num_layers: 1,
      bidirectional: true,
    },
    local hidden_dim = self.encoder.hidden_size,
    integrator: {
      type: 'lstm',
      // The word, its difference from the attended vector, and their product.
      input_size: 3 * 2 * hidden_dim,
      hidden_size: hidden_dim,
      num_layers: 1,
      bidirectional: true,
    },
    integrator_dropout: 0.1,
    output_layer: {
      // Four pooling methods.
      input_dim: 4 * 2 * hidden_dim,
      num_layers: 3,
      output_dims: [4 * hidden_dim, 2 * hidden_dim, 5],
      pool_sizes: 4,
      dropout: [0.2, 0.3, 0.0],
    },
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 100, sorting_keys: ['tokens'] },
  },
  trainer: {
    optimizer: { type: 'adam', lr: 0.001 },
    num_epochs: 40,
    patience: 5,
    grad_norm: 5.0,
    validation_metric: '+accuracy',
    callbacks: [{ type: 'console_logger', should_log_inputs: false }],
    // They add hooks to every module, which a resumed run would keep.
    run_confidence_checks: false,
  },
}
