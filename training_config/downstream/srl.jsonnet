// Semantic role labelling with the alternating LSTM of He et al. 2017. Input: the chosen word
// representation and a verb indicator.
//
//   export SRL_TRAIN_DATA_PATH=… SRL_DEV_DATA_PATH=… SRL_TEST_DATA_PATH=…
//   export WORD_REPRESENTATION=elmo_semfit LM_ARCHIVE_PATH=…
//   allennlp train training_config/downstream/srl.jsonnet --include-package allennlp_semfit -s output/srl
//
// The hyper-parameters are those of allennlp-models' `srl_elmo`, and of its `srl` for `none`. See
// README.md for other representations and where to get data. The official scorer needs Perl.
local downstream_task = import '../lib/downstream_task.libsonnet';
local word_representation = import '../lib/word_representation.libsonnet';

downstream_task('SRL', sorting_keys=['tokens']) + {
  local words = word_representation($.sizes, dropout=0.1, none={
    indexers: { tokens: { type: 'single_id' } },
    embedders: { tokens: { type: 'embedding', embedding_dim: $.sizes.embedding_dim } },
    dim: $.sizes.embedding_dim,
  }),

  sizes+:: {
    embedding_dim: 100,
    binary_feature_dim: 100,
    hidden_dim: 300,
    num_layers: 8,
    // The number of frames to train on; null for all.
    max_instances: null,
    batch_size: 80,
    learning_rate: 1.0,
    num_epochs: 500,
    patience: 200,
  },
  dataset_reader: {
    type: 'srl',
    token_indexers: words.indexers,
    max_instances: $.sizes.max_instances,
  },
  validation_dataset_reader: $.dataset_reader { max_instances: null },
  model: {
    type: 'srl',
    text_field_embedder: { token_embedders: words.embedders },
    encoder: {
      type: 'alternating_lstm',
      input_size: words.dim + $.sizes.binary_feature_dim,
      hidden_size: $.sizes.hidden_dim,
      num_layers: $.sizes.num_layers,
      recurrent_dropout_probability: 0.1,
      use_input_projection_bias: false,
    },
    binary_feature_dim: $.sizes.binary_feature_dim,
    initializer: { regexes: [['tag_projection_layer.*weight', { type: 'orthogonal' }]] },
    // The layer weights of the scalar mix.
    regularizer: { regexes: [['.*scalar_parameters.*', { type: 'l2', alpha: 0.001 }]] },
  },
  trainer+: {
    optimizer: { type: 'adadelta', lr: $.sizes.learning_rate, rho: 0.95 },
    grad_clipping: 1.0,
    validation_metric: '+f1-measure-overall',
  },
}
